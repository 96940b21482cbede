package topkprocessor

import (
	"cmp"
	"iter"
	"slices"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
)

// steps of one batch, each in a slice of its own: the batch as it is, or where it reaches over more than most minutes, its
// records by time, oldest first, of most minutes at a time. So a request of history opens no more buckets than are closed
// again, and none of its records is late for another.
func steps(b *rule.Batch, most int) iter.Seq[[]rule.Batch] {
	return func(yield func([]rule.Batch) bool) {
		one := []rule.Batch{{Keys: b.Keys, Weights: b.Weights, Groups: b.Groups, Times: b.Times, Skipped: b.Skipped}}
		if len(b.Times) == 0 || window.MinuteOf(slices.Max(b.Times))-window.MinuteOf(slices.Min(b.Times)) < window.Minute(most) {
			yield(one)
			return
		}
		sortByTime(&one[0])
		for all := one[0]; len(all.Times) > 0; {
			n := withinMinutes(all.Times, most)
			step := []rule.Batch{{Keys: all.Keys[:n], Times: all.Times[:n], Skipped: all.Skipped}}
			all.Keys, all.Times, all.Skipped = all.Keys[n:], all.Times[n:], rule.Skipped{}
			if all.Weights != nil {
				step[0].Weights, all.Weights = all.Weights[:n], all.Weights[n:]
			}
			if all.Groups != nil {
				step[0].Groups, all.Groups = all.Groups[:n], all.Groups[n:]
			}
			if !yield(step) {
				return
			}
		}
	}
}

// withinMinutes is how many of the first, of times in order, lie in most minutes.
func withinMinutes(times []int64, most int) int {
	minutes := 1
	for i := 1; i < len(times); i++ {
		if window.MinuteOf(times[i]) != window.MinuteOf(times[i-1]) {
			if minutes++; minutes > most {
				return i
			}
		}
	}
	return len(times)
}

// sortByTime makes new columns in the order of time; records of one time stay as they came.
func sortByTime(b *rule.Batch) {
	order := make([]int, len(b.Times))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(b.Times[i], b.Times[j]) })
	b.Keys, b.Times = ordered(b.Keys, order), ordered(b.Times, order)
	if b.Weights != nil {
		b.Weights = ordered(b.Weights, order)
	}
	if b.Groups != nil {
		b.Groups = ordered(b.Groups, order)
	}
}

func ordered[T any](column []T, order []int) []T {
	out := make([]T, len(order))
	for to, from := range order {
		out[to] = column[from]
	}
	return out
}
