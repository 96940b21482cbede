package board

import (
	"maps"
	"slices"

	"github.com/otel-topk/collector/internal/window"
)

// flatAfter is when an hour has left every window, also if the clock was set back.
const flatAfter = window.Minute(25 * window.OneHour)

// flatten makes hours that no window holds any more small: they keep a shard's residents and no cells. It does some of one
// hour's groups at a time.
func (b *Board) flatten(c *counted) {
	if len(c.toFlatten) == 0 {
		next := window.Part{Start: -1, Size: window.OneHour}
		for at := range c.parts {
			if at.Size == window.OneHour && at.Start >= c.flat && at.End() <= c.until-flatAfter && (next.Start < 0 || at.Start < next.Start) {
				next = at
			}
		}
		if next.Start < 0 {
			return
		}
		c.flattening, c.toFlatten = next, slices.Collect(maps.Keys(c.parts[next]))
	}
	n := min(64+len(c.parts[c.flattening])/16, len(c.toFlatten))
	for _, g := range c.toFlatten[:n] {
		if !c.parts[c.flattening].holds(g) {
			continue
		}
		if sum := b.read(c, c.flattening, g); sum != nil {
			sum.Prune(c.rule.Residents)
			sum.Flatten()
			b.write(c, c.flattening, g, sum)
		}
	}
	if c.toFlatten = c.toFlatten[n:]; len(c.toFlatten) == 0 {
		c.toFlatten, c.flat = nil, c.flattening.End()
		b.keepRule(c)
	}
}
