// Package topk counts weight by key in fixed memory, and says which keys are the largest and how far each number may be off.
// It holds one type, Summary, that counts and merges: a minute is a Summary, an hour is sixty of them merged, shards and
// groups merge in the same way. The package has no clock, no goroutine and no logger.
//
// # The law
//
// For every key x of true weight f(x):
//
//	resident x:   lo(x) <= f(x) <= lo(x) + base(x)
//	any other x:           f(x) <= min(cells of x) <= theta
//
// It survives every sequence of Add, AddBatch, Merge, MergeBound, Prune, Expect, Unpin, Tighten, Flatten, Clone, MarshalBinary
// and UnmarshalBinary. Besides, for every Summary:
//
//	every cell <= theta <= TotalUpper <= 2^63
//	lo(x) + base(x)     <= TotalUpper
//	sum of lo(x)        <= Total <= TotalUpper
//	Size <= Capacity
//
// so that nothing wraps. Estimate of a resident is lo + base: it never undercounts.
//
// # How it counts
//
// Residents are the at most Capacity keys that are counted one by one: lo counts since the key became a resident, base bounds
// what came before. All other keys share a tail, a Count-Min sketch with conservative update. A key that is not resident
// has e = min(cells) + weight. If e <= theta, its cells rise to e; else it becomes a resident with lo = weight and
// base = min(cells). When the table is full, a purge flushes the last half of the residents, in the order of estimate
// descending and key bytes ascending, into the tail: each cell rises to the estimate, and theta to the largest estimate
// that was flushed. The tail is allocated by the first purge; until then a Summary is small and exact, and Theta is 0.
//
// Certificates follow from the law. No key outside a list of k weighs more than bar = max(theta, estimate of item k+1); so
// item i belongs in the list if lo(i) >= bar, and at its rank if no item before it can weigh less and none after it more.
// All are meant ties aside.
//
// # Where it comes from
//
//   - Count-Min: Cormode, Muthukrishnan, An Improved Data Stream Summary, 2005: width ceil(e/epsilon), depth ceil(ln(1/delta)).
//   - Conservative update: Estan, Varghese, New Directions in Traffic Measurement and Accounting, 2002.
//   - A table of heavy keys in front of a sketch: Roy, Khan, Alonso, Augmented Sketch, 2016; lower and upper bound by key, and the
//     purge of a part of the table: Metwally et al., Space-Saving, 2005; Anderson et al., A High-Performance Algorithm for
//     Identifying Frequent Items in Data Streams, 2017.
//   - Distinct keys: Flajolet et al., HyperLogLog, 2007, with the estimator of Ertl, arXiv 1702.01284, algorithm 6.
//   - Multiply-shift rows: Dietzfelbinger et al., 1997. Tags of a table, eight at once: the Swiss tables of Abseil.
package topk
