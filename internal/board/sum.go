package board

import (
	"cmp"
	"slices"
	"strings"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/topk"
)

// residents of the merged summaries of g. The global list, and the only one of a rule without groups, keeps most; for the
// many others what a shard keeps is as good where it counts (docs/decisions), in a fifth of the room.
func residents(d *rule.Definition, g rule.Group) int {
	if g == global {
		return max(mergedResidents, d.Residents)
	}
	return d.Residents
}

// empty makes a summary of g to merge into.
func (c *counted) empty(g rule.Group) *topk.Summary {
	return empty(c.rule.Shape, residents(c.rule, g))
}

func empty(shape topk.Shape, residents int) *topk.Summary {
	s, err := topk.New(residents, shape)
	if err != nil {
		panic("board: a definition with a shape that cannot be: " + err.Error()) // a state with it was decoded
	}
	return s
}

// renew makes s an empty summary of g, in its old room if it has the right shape.
func (c *counted) renew(s *topk.Summary, g rule.Group) *topk.Summary {
	if s == nil || s.Shape() != c.rule.Shape || s.Capacity() != residents(c.rule, g) {
		return c.empty(g)
	}
	s.Reset()
	return s
}

// scratch is one summary that is used again and again.
type scratch struct{ sum *topk.Summary }

// take makes an empty summary of g, good until the next take.
func (s *scratch) take(c *counted, g rule.Group) *topk.Summary {
	s.sum = c.renew(s.sum, g)
	return s.sum
}

// decode is good until the next call; nil: it is no summary, which cannot be for what wire or the board has encoded.
func (b *Board) decode(encoded []byte) *topk.Summary {
	if b.decoded.UnmarshalBinary(encoded) != nil {
		return nil
	}
	return &b.decoded
}

// merge adds o to s. What cannot be added, as the sum would pass 2^63, is counted.
func (b *Board) merge(s, o *topk.Summary) {
	if o == nil || s.Merge(o) != nil {
		b.stats.Unmerged++
	}
}

// bound adds o to what s may lack.
func (b *Board) bound(s, o *topk.Summary) {
	if o == nil || s.MergeBound(o) != nil {
		b.stats.Unmerged++
	}
}

// live is what m holds of g, without bounds; nil: nothing.
func (b *Board) live(c *counted, m *minute, g rule.Group) *topk.Summary {
	if g == global && c.rule.Grouped() {
		return b.liveGlobal(c, m)
	}
	at := m.cells[g]
	if at == nil {
		return nil
	}
	if !at.fresh {
		at.reset(c, g)
		for _, st := range at.states {
			b.merge(at.sum, b.decode(st.encoded))
		}
	}
	return at.sum
}

func (b *Board) liveGlobal(c *counted, m *minute) *topk.Summary {
	if len(m.cells) == 0 {
		return nil
	}
	if !m.all.fresh {
		m.all.reset(c, global)
		for _, g := range sorted(m.cells) {
			b.merge(m.all.sum, b.live(c, m, g))
		}
	}
	return m.all.sum
}

func (at *cell) reset(c *counted, g rule.Group) {
	at.sum, at.fresh = c.renew(at.sum, g), true
}

// addLive adds to sum what m holds of g, and the overflow where records of g may be.
func (b *Board) addLive(sum *topk.Summary, c *counted, m *minute, g rule.Group) {
	own := b.live(c, m, g)
	switch {
	case g.Scope != rule.ScopeGroup || len(m.overflow) == 0:
		if own != nil {
			b.merge(sum, own)
		}
	case own == nil:
		b.bound(sum, b.live(c, m, overflow))
	default:
		b.merge(sum, b.bounded(c, m, g))
	}
}

// bounded is what m holds of g with the overflow of the sets that lack it.
func (b *Board) bounded(c *counted, m *minute, g rule.Group) *topk.Summary {
	at := m.cells[g]
	if at.bounded != nil {
		return at.bounded
	}
	at.bounded = at.sum
	for _, s := range m.overflow {
		if !s.lacks(g) {
			continue
		}
		if at.bounded == at.sum {
			at.bounded = at.sum.Clone()
		}
		b.bound(at.bounded, b.overflowOf(c, s))
	}
	return at.bounded
}

func (b *Board) overflowOf(c *counted, s *set) *topk.Summary {
	if s.overflow == nil {
		s.overflow = c.empty(overflow)
		for _, g := range sorted(s.states) {
			if st := s.states[g]; st.group == overflow {
				b.merge(s.overflow, b.decode(st.encoded))
			}
		}
	}
	return s.overflow
}

// sorted is the keys of m in their order: global, those with a name, missing, overflow.
func sorted[V any](m map[rule.Group]V) []rule.Group {
	groups := make([]rule.Group, 0, len(m))
	for g := range m {
		groups = append(groups, g)
	}
	slices.SortFunc(groups, compareGroups)
	return groups
}

func compareGroups(a, b rule.Group) int {
	return cmp.Or(cmp.Compare(a.Scope, b.Scope), strings.Compare(a.Name, b.Name))
}
