package topk

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/otel-topk/collector/topk/internal/stream"
)

// BenchmarkDayOfExactHours holds a sliding day of 24 summaries against one of 23 exact hours and the summary of the newest:
// docs/decisions/0026-sliding-days-and-exact-hours.md.
func BenchmarkDayOfExactHours(b *testing.B) {
	const minutes, events, keys = 60, 6_000, 100_000
	for name, minute := range map[string]func(n uint64) *stream.Stream{
		"zipf-1.0": func(n uint64) *stream.Stream { return stream.Zipf("", events, keys, 1, n) },
		"zipf-0.8": func(n uint64) *stream.Stream { return stream.Zipf("", events, keys, 0.8, n) },
		"hostile":  func(n uint64) *stream.Stream { return stream.Late("", events, keys, n) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				exact, before := make([]uint64, keys), make([]uint64, keys)
				var hours []*Summary
				var last *Summary
				for h := range uint64(24) {
					hour := newSummary(b, 4096, standard)
					copy(before, exact)
					for m := range uint64(minutes) {
						st := minute(1 + h*minutes + m)
						s := newSummary(b, 640, standard)
						if last != nil {
							s.Expect(last, 128)
						}
						if err := s.AddBatch(st.Keys, nil); err != nil {
							b.Fatal(err)
						}
						s.Unpin()
						merge(b, hour, s)
						for id, n := range st.Exact {
							exact[id] += n
						}
						last = s
					}
					hours = append(hours, hour)
				}
				day := newSummary(b, 4096, standard)
				for _, h := range hours {
					merge(b, day, h)
				}
				day.Tighten()
				newest := hours[23]
				report(b, "summaries", exact, day.Top(100))
				report(b, "exact", exact, mixed(before, newest, 100))
			}
		})
	}
}

// mixed lists the k heaviest by exact counts of hours before and a summary of the newest.
func mixed(before []uint64, newest *Summary, k int) List {
	items := make([]Item, 0, len(before))
	for id, n := range before {
		key := stream.Key(uint32(id))
		lower, upper := newest.Bounds(key)
		items = append(items, Item{Key: key, Estimate: n + upper, Lower: n + lower})
	}
	slices.SortFunc(items, func(a, b Item) int {
		return cmp.Or(cmp.Compare(b.Estimate, a.Estimate), strings.Compare(a.Key, b.Key))
	})
	l := List{K: k, Items: items[:k], Next: items[k].Estimate, Theta: newest.Theta()}
	return l.First(k)
}

// report of the first 10 and 100 the largest error bound, in thousandths of the tenth or hundredth count, the certain items, and those
// that are right.
func report(b *testing.B, name string, exact []uint64, l List) {
	sorted := slices.Clone(exact)
	slices.SortFunc(sorted, func(a, b uint64) int { return cmp.Compare(b, a) })
	for k, unit := range map[int]string{10: "-10", 100: "-100"} {
		var bound, certain, right uint64
		for _, it := range l.First(k).Items {
			bound = max(bound, it.Estimate-it.Lower)
			if it.Certain {
				certain++
			}
			if exact[stream.ID(it.Key)] >= sorted[k-1] {
				right++
			}
		}
		b.ReportMetric(1000*float64(bound)/float64(sorted[k-1]), name+"-bound"+unit)
		b.ReportMetric(float64(certain), name+"-certain"+unit)
		b.ReportMetric(float64(right), name+"-right"+unit)
	}
}
