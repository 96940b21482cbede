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

// atOnce is how many states are decoded and merged at once.
const atOnce = 8

// decoder of one state after the other.
type decoder struct{ topk.Decoder }

// decode is good until the next call; nil: it is no summary, which cannot be for what wire or the board has encoded.
func (d *decoder) decode(encoded []byte) *topk.Summary {
	sum, err := d.Decode(encoded)
	if err != nil {
		return nil
	}
	return sum
}

func (b *Board) decode(encoded []byte) *topk.Summary { return b.decoders[0].decode(encoded) }

// merge adds others to s. What cannot be added, as the sum would pass 2^63, is counted.
func (b *Board) merge(c *counted, s *topk.Summary, others ...*topk.Summary) {
	if slices.Contains(others, nil) || s.Merge(others...) != nil {
		if len(others) == 1 {
			b.stats.Unmerged++
			return
		}
		for _, o := range others {
			b.merge(c, s, o)
		}
	}
	fit(c.rule, s)
}

// bound adds o to what s may lack.
func (b *Board) bound(s, o *topk.Summary) {
	if o == nil || s.MergeBound(o) != nil {
		b.stats.Unmerged++
	}
}

// fit prunes a merged summary whose keys are so long that they take more room than is set aside for them. The longest list
// always has room.
func fit(d *rule.Definition, s *topk.Summary) {
	for {
		n, size := s.KeyBytes(), s.Size()
		most := keyRoom(d, s.Capacity())
		if n <= most || size <= d.K {
			return
		}
		s.Prune(max(d.K, min(size-1, size*most/n)))
	}
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
