package board

import (
	"cmp"
	"math"
	"slices"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/topk"
)

// memo is a sum of live states that is kept until one of them changes.
type memo struct {
	sum   *topk.Summary
	fresh bool
	bytes int64
}

// remember makes m, unless it is fresh or there is no room for it: then what add adds has to be added again each time.
func (b *Board) remember(m *memo, c *counted, g rule.Group, add func(*topk.Summary)) bool {
	if m.fresh {
		return true
	}
	if b.sumBytes >= b.mostSums {
		b.sumBytes -= m.bytes
		*m = memo{}
		return false
	}
	m.sum, m.fresh = c.renew(m.sum, g), true
	add(m.sum)
	b.sumBytes -= m.bytes
	m.bytes = footprint(m.sum)
	b.sumBytes += m.bytes
	return true
}

// footprint is the memory of a merged summary, more or less.
func footprint(s *topk.Summary) int64 {
	n := slotsFor(2*s.Size())*slotBytes + 2*s.KeyBytes()
	if s.Theta() > 0 {
		cell := 4
		if s.TotalUpper() > math.MaxUint32 {
			cell = 8
		}
		n += s.Shape().Width*s.Shape().Depth*cell + registerBytes
	}
	return int64(n)
}

// addCell adds to sum what m holds of g, without bounds.
func (b *Board) addCell(sum *topk.Summary, c *counted, m *minute, g rule.Group) {
	if g == global && c.rule.Grouped() {
		b.addAll(sum, c, m)
		return
	}
	at := m.cells[g]
	if at == nil {
		return
	}
	add := func(sum *topk.Summary) { b.addStates(sum, c, at.states) }
	if b.remember(&at.own, c, g, add) {
		b.merge(c, sum, at.own.sum)
	} else {
		add(sum)
	}
}

// addStates adds many at once, which takes less time than one after the other.
func (b *Board) addStates(sum *topk.Summary, c *counted, states []*state) {
	for some := range slices.Chunk(states, len(b.decoders)) {
		var decoded [atOnce]*topk.Summary
		for i, st := range some {
			decoded[i] = b.decoders[i].decode(st.encoded)
		}
		b.merge(c, sum, decoded[:len(some)]...)
	}
}

func (b *Board) addAll(sum *topk.Summary, c *counted, m *minute) {
	if len(m.cells) == 0 {
		return
	}
	add := func(sum *topk.Summary) {
		for _, g := range sorted(m.cells) {
			b.addCell(sum, c, m, g)
		}
	}
	if b.remember(&m.all, c, global, add) {
		b.merge(c, sum, m.all.sum)
	} else {
		add(sum)
	}
}

// addLive adds to sum what m holds of g, and the overflow where records of g may be.
func (b *Board) addLive(sum *topk.Summary, c *counted, m *minute, g rule.Group) {
	at := m.cells[g]
	if g.Scope != rule.ScopeGroup || !slices.ContainsFunc(m.overflow, func(s *set) bool { return s.lacks(g) }) {
		b.addCell(sum, c, m, g)
		return
	}
	add := func(sum *topk.Summary) {
		b.addCell(sum, c, m, g)
		for _, s := range m.overflow {
			if s.lacks(g) {
				b.boundSet(sum, c, s)
			}
		}
	}
	if at != nil && b.remember(&at.bounded, c, g, add) {
		b.merge(c, sum, at.bounded.sum)
	} else {
		add(sum)
	}
}

// boundSet adds the overflow of a set to what sum may lack.
func (b *Board) boundSet(sum *topk.Summary, c *counted, s *set) {
	add := func(add func(*topk.Summary)) {
		for _, g := range sorted(s.states) {
			if st := s.states[g]; st.group == overflow {
				add(b.decode(st.encoded))
			}
		}
	}
	if b.remember(&s.overflow, c, overflow, func(over *topk.Summary) {
		add(func(o *topk.Summary) { b.merge(c, over, o) })
	}) {
		b.bound(sum, s.overflow.sum)
	} else {
		add(func(o *topk.Summary) { b.bound(sum, o) })
	}
}

// memos of a minute.
func (m *minute) memos(yield func(*memo) bool) {
	for _, at := range m.cells {
		if !yield(&at.own) || !yield(&at.bounded) {
			return
		}
	}
	for _, s := range m.overflow {
		if !yield(&s.overflow) {
			return
		}
	}
	yield(&m.all)
}

// forgetMemos counts what is kept once there may be much of it, and lets go that of the oldest minutes.
func (b *Board) forgetMemos() {
	if b.sumBytes <= b.mostSums/2 {
		return
	}
	type kept struct {
		at window.Minute
		*minute
		bytes int64
	}
	var all []kept
	b.sumBytes = 0
	for _, r := range b.rules {
		for _, c := range r.definitions {
			for at, m := range c.minutes {
				k := kept{at: at, minute: m}
				for of := range m.memos {
					k.bytes += of.bytes
				}
				b.sumBytes += k.bytes
				all = append(all, k)
			}
		}
	}
	slices.SortFunc(all, func(a, b kept) int { return cmp.Compare(a.at, b.at) })
	for _, k := range all {
		if b.sumBytes <= b.mostSums/4*3 {
			return
		}
		for m := range k.memos {
			*m = memo{}
		}
		b.sumBytes -= k.bytes
	}
}
