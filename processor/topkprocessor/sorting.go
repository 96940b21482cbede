package topkprocessor

import (
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
)

// sorting of a mixed batch by seat. Its memory is reused; no record allocates.
type sorting struct {
	mark    uint64  // of this sorting, so that no cell needs to be cleared
	slots   []slot  // the seats met
	slotOf  []int32 // of each record; uncounted: none
	keys    []string
	weights []uint64
}

// slot is a seat and its records, which lie together in sorting.keys.
type slot struct {
	seat   *seat
	newest int64
	n, at  int32
}

const uncounted = -1

func (s *stripe) sort(l *ledger, b *rule.Batch, j judge) {
	for from := 0; from < len(b.Keys); from += chunk {
		to := min(from+chunk, len(b.Keys))
		times, groups := b.Times[from:to], b.Groups
		if groups != nil {
			groups = groups[from:to]
		}
		s.assign(l, times, groups, &j)
		var weights []uint64
		if b.Weights != nil {
			weights = b.Weights[from:to]
		}
		s.scatter(b.Keys[from:to], weights)
	}
}

// assign finds each record's slot.
func (s *stripe) assign(l *ledger, times []int64, groups []rule.Group, j *judge) {
	p := &s.sorting
	p.mark++
	p.slots, p.slotOf = p.slots[:0], p.slotOf[:0]
	var late, future uint64
	at := cursor{stripe: s, ledger: l}
	for i, ns := range times {
		switch j.verdict(ns) {
		case window.Late:
			late++
			p.slotOf = append(p.slotOf, uncounted)
			continue
		case window.Future:
			future++
			p.slotOf = append(p.slotOf, uncounted)
			continue
		}
		var g rule.Group
		if groups != nil {
			g = groups[i]
		}
		n := at.slot(ns, g)
		sl := &p.slots[n]
		sl.n++
		sl.newest = max(sl.newest, ns)
		p.slotOf = append(p.slotOf, n)
	}
	at.leave()
	l.tally.late.Add(late)
	l.tally.future.Add(future)
}

// cursor finds slots. It holds the lock of one bucket at a time, for reading; records next to each other are mostly of one
// bucket and often of one group.
type cursor struct {
	stripe *stripe
	ledger *ledger
	bucket *bucket
	group  rule.Group
	last   int32 // slot of group in bucket; uncounted: none yet
}

func (c *cursor) slot(ns int64, g rule.Group) int32 {
	if c.bucket == nil || !c.bucket.contains(ns) {
		c.leave()
		c.bucket = c.ledger.bucket(window.MinuteOf(ns))
		c.bucket.mu.RLock()
		c.last = uncounted
	}
	if c.last != uncounted && c.group == g {
		return c.last
	}
	to := c.bucket.find(g)
	if to == nil {
		c.bucket.mu.RUnlock()
		to = c.bucket.admit(g)
		c.bucket.mu.RLock()
	}
	c.group, c.last = g, c.stripe.sorting.slot(&to.cells[c.stripe.index], to)
	return c.last
}

func (c *cursor) leave() {
	if c.bucket != nil {
		c.bucket.mu.RUnlock()
		c.bucket = nil
	}
}

// slot of a seat in this sorting.
func (p *sorting) slot(c *cell, to *seat) int32 {
	if c.mark != p.mark {
		c.mark, c.slot = p.mark, int32(len(p.slots))
		p.slots = append(p.slots, slot{seat: to, newest: noTime})
	}
	return c.slot
}

// scatter brings the records of each slot together and counts them.
func (s *stripe) scatter(keys []string, weights []uint64) {
	p := &s.sorting
	var end int32
	for i := range p.slots {
		p.slots[i].at = end
		end += p.slots[i].n
	}
	p.keys = grown(p.keys, int(end))
	if weights != nil {
		p.weights = grown(p.weights, int(end))
	}
	for i, n := range p.slotOf {
		if n == uncounted {
			continue
		}
		sl := &p.slots[n]
		p.keys[sl.at] = keys[i]
		if weights != nil {
			p.weights[sl.at] = weights[i]
		}
		sl.at++
	}
	for i := range p.slots {
		sl := &p.slots[i]
		var w []uint64
		if weights != nil {
			w = p.weights[sl.at-sl.n : sl.at]
		}
		s.add(sl.seat, p.keys[sl.at-sl.n:sl.at], w, sl.newest)
	}
	clear(p.keys)
	clear(p.slots)
}

// grown is s with n elements, of any value.
func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, chunk)
	}
	return s[:n]
}
