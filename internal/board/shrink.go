package board

import (
	"math"

	"github.com/otel-topk/collector/internal/window"
)

// shrink gives up the oldest parts of all until the limits hold. It looks at the parts of one definition for each part that goes:
// oldest, which no part of a definition is older than, says of which.
func (b *Board) shrink() {
	for b.stats.PartBytes > b.cfg.MaxPartBytes || b.indexBytes > b.mostIndex {
		var of *counted
		for _, r := range b.rules {
			for _, c := range r.definitions {
				if len(c.parts) > 0 && (of == nil || c.oldest < of.oldest) {
					of = c
				}
			}
		}
		if of == nil {
			return
		}
		oldest := of.until
		for at := range of.parts {
			oldest = min(oldest, at.Start)
		}
		if oldest > of.oldest {
			of.oldest = oldest
			continue
		}
		b.giveUp(of, oldest+1)
	}
}

// giveUp lets go the parts before floor.
func (b *Board) giveUp(c *counted, floor window.Minute) {
	before := b.stats.Parts
	c.floor = floor
	for at := range c.parts {
		if at.Start < floor {
			b.discard(c, at)
		}
	}
	b.stats.GivenUpParts += uint64(before - b.stats.Parts)
	b.keepRule(c)
}

// forgetAsleep lets go the definitions that have been asleep for longest, where they are more than may be awake.
func (b *Board) forgetAsleep() {
	for {
		n := 0
		var of *counted
		for _, r := range b.rules {
			for _, c := range r.definitions {
				if c.awake() {
					continue
				}
				n++
				if of == nil || c.newest < of.newest {
					of = c
				}
			}
		}
		if n <= b.cfg.MaxRules {
			return
		}
		b.giveUp(of, math.MaxInt64)
		b.forgetDefinition(of)
		if r := of.under; len(r.definitions) == 0 {
			b.forgetRule(r)
		}
	}
}
