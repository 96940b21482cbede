// Package recount counts archived records exactly, in a memory budget, by the code of the rules.
//
// # What is read
//
// The files of the hours that the range touches, and of each only the columns that Rule.Needs names. Rules whose records count before
// their file's hour (Rule.Early: spans by their start, span events) also read files of up to 24 hours after the range and before it
// whose footers say that something in them may be of the range. Records outside the range are taken out before the rule sees them, so
// what it counts and what it skips are both of the range alone.
//
// A file that is damaged, foreign, not what its name says, or gone fails the count, which names it. With SkipDamaged the first three
// are left out whole: where some of it was counted already, the count starts again without it.
//
// # How it is counted
//
// Each record of a rule adds its weight to its key in the global list, and where the rule has a group_by and no list was asked for, in
// that of its group. An entry is
//
//	weight 8 | records 8, where not all weigh 1 | list 4, where there are several | length 2 | key
//
// padded to 8 bytes, in chunks of 128 KiB that hold no pointer. An open hash table of 8 bytes a place finds it: half of a 64-bit hash,
// seeded at random, so that nobody can choose keys that meet, and the number of the entry; the whole key decides. It is at most three
// quarters full. Keys come 256 at a time, and the places of all are read before any is used, so that waits for memory overlap. Where
// places or chunks would exceed the budget, all entries are sorted, by 8 bytes of their keys at once, written out as a run, and
// forgotten. In the end the runs are merged into one, in several steps where a quarter of the budget is too little for 64 KiB a run.
//
// Runs lie in one file without a name in Options.Directory, so whatever ends the process leaves nothing there. It grows to at most
// twice the size of all runs, plus once for each further step of merging.
//
// # Memory
//
// Seven eighths of Options.Memory are the budget. For e entries, of which the average takes b bytes, it covers
//
//	b * e  +  8 * places (a power of two, 4/3 e to 8/3 e; while they double, half as much again)  +  16 * e to sort  +  160 a group
//
// so that 5 million keys of 14 bytes, which weigh 1 each, take 24*5M + 8*8.4M + 16*5M = 267 MB. Groups may take a quarter of the budget;
// more of them are an error, since the sums of all are held until the end. The last eighth is for what archive.Reader holds, the
// needed columns of one row group and of 1,024 records, and the rule's batch of those: 20 to 50 MB for most, whatever the limit.
// A process adds what Go's garbage collector is allowed to let lie: topk recount holds that down by debug.SetMemoryLimit.
package recount
