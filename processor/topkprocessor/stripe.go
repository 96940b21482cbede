package topkprocessor

import (
	"slices"
	"sync"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
)

// chunk is how many records are sorted at once: what a stripe needs for it stays small and in the cache.
const chunk = 2048

// stripe counts one batch at a time. A batch takes the first stripe whose lock is free, so that stripes that are not needed
// never allocate.
type stripe struct {
	mu    sync.Mutex
	index int
	all   []*stripe

	sorting sorting
}

func newStripes(n int) []*stripe {
	all := make([]*stripe, n)
	for i := range all {
		all[i] = &stripe{index: i, all: all}
	}
	return all
}

// count what one rule found. Called with the lock held.
func (s *stripe) count(l *ledger, b *rule.Batch, now int64) {
	l.tally.skip(&b.Skipped)
	if len(b.Keys) == 0 {
		return
	}
	clock, floor := l.at(), window.Minute(l.floor.Load())
	first, last := slices.Min(b.Times), slices.Max(b.Times)
	m := window.MinuteOf(first)
	if m == window.MinuteOf(last) && first >= 0 && m >= floor && sameGroup(b.Groups) &&
		clock.Judge(first, now) == window.OnTime && clock.Judge(last, now) == window.OnTime {
		var g rule.Group
		if b.Groups != nil {
			g = b.Groups[0]
		}
		s.add(l.bucket(m).seat(g), b.Keys, b.Weights, last)
	} else {
		s.sort(l, b, judge{clock: clock, floor: floor, now: now})
	}
}

// judge of one batch's times.
type judge struct {
	clock window.Clock
	floor window.Minute
	now   int64
}

func (j *judge) verdict(ns int64) window.Verdict {
	v := j.clock.Judge(ns, j.now)
	if v == window.OnTime && (ns < 0 || window.MinuteOf(ns) < j.floor) {
		return window.Late
	}
	return v
}

// add records of one seat, the newest of them at ns.
func (s *stripe) add(to *seat, keys []string, weights []uint64, ns int64) {
	l := to.bucket.ledger
	n := uint64(len(keys))
	sum := n
	if weights != nil {
		sum = total(weights)
	}
	if !to.reserve(sum) {
		l.tally.full.Add(n)
		return
	}
	c := &to.cells[s.index]
	if c.summary == nil {
		c.summary = l.empty.Clone()
		to.expect(c.summary, s.index, s.all)
	}
	if err := c.summary.AddBatch(keys, weights); err != nil {
		to.weight.Add(-sum)
		l.tally.full.Add(n)
		return
	}
	to.noteUse(ns)
	l.observe(ns)
	l.tally.counted.Add(n)
	if to.group.Scope == rule.ScopeOverflow {
		l.tally.overflowed.Add(n)
	}
}

// total of weights; more than a summary takes if it passes 2^64.
func total(weights []uint64) uint64 {
	var sum uint64
	for _, w := range weights {
		if sum += w; sum < w {
			return ^uint64(0)
		}
	}
	return sum
}

func sameGroup(groups []rule.Group) bool {
	for i := 1; i < len(groups); i++ {
		if groups[i] != groups[0] {
			return false
		}
	}
	return true
}

// skip counts what a rule looked at and did not count as it is.
func (t *tally) skip(s *rule.Skipped) {
	if *s == (rule.Skipped{}) {
		return
	}
	t.unmatched.Add(s.Unmatched)
	t.missingKey.Add(s.MissingKey)
	t.badWeight.Add(s.BadWeight)
	t.failed.Add(s.Errors)
	t.cut.Add(s.CutKeys)
	t.repaired.Add(s.Repaired)
}
