package board

import (
	"cmp"
	"slices"
	"time"

	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
)

// presence of the shards of one rule.
type presence struct {
	reporting, silent, gone int
	by                      []countedBy
	named                   []wire.SilentShard // silent for longest, at most wire.MaxSilentShards
	unplaced                incidents
}

// countedBy are the shards whose last state was of one definition.
type countedBy struct {
	fingerprint     string
	reporting, live int             // silent ones are live
	overflowed      []window.Minute // of each shard with an overflow, gone ones too, the newest
}

// of one definition.
func (at *presence) of(fingerprint string) *countedBy {
	for i := range at.by {
		if at.by[i].fingerprint == fingerprint {
			return &at.by[i]
		}
	}
	at.by = append(at.by, countedBy{fingerprint: fingerprint})
	return &at.by[len(at.by)-1]
}

// presences looks at every shard: it lets those go that were silent for too long, and forgets those that were gone for a
// day, or are too many. An epoch that fell silent before another one of the same shard began was restarted: it is gone.
func (b *Board) presences(now int64) map[string]*presence {
	restarted := make(map[string]int64, len(b.epochs)) // shard: when its last epoch began
	for _, e := range b.epochs {
		if e.last > now { // the clock was set back
			e.first, e.last, e.changed = min(e.first, now), now, true
		}
		restarted[e.shard] = max(restarted[e.shard], e.first)
	}
	all := make(map[string]*presence, len(b.rules))
	for name := range b.rules {
		all[name] = &presence{}
	}
	var gone []*epoch
	for _, e := range b.epochs {
		silence := time.Duration(now - e.last)
		switch {
		case e.gone:
		case silence >= silentAfter && restarted[e.shard] > e.last:
			b.leave(e)
		case silence >= goneAfter && time.Duration(now-b.began) >= goneAfter:
			b.leave(e)
			b.miss(e, now)
		}
		if e.gone {
			gone = append(gone, e)
		}
		for _, p := range e.reports {
			if at := all[p.rule]; at != nil {
				at.see(e, p, silence)
			}
		}
		b.keepEpoch(e)
	}
	b.forgetEpochs(gone, now)
	return all
}

func (b *Board) forgetEpochs(gone []*epoch, now int64) {
	if len(gone) > b.cfg.MaxEpochs {
		slices.SortFunc(gone, func(a, c *epoch) int { return cmp.Compare(c.last, a.last) })
	}
	for i, e := range gone {
		if i >= b.cfg.MaxEpochs || time.Duration(now-e.last) >= forgottenAfter {
			b.keepTold(e)
			delete(b.epochs, e.id)
			b.remove(epochKey(e.id))
		}
	}
}

func (at *presence) see(e *epoch, p *reported, silence time.Duration) {
	if p.unplaced != (incidents{}) {
		at.unplaced.add(p.unplaced)
		p.unplaced, e.changed = incidents{}, true
	}
	by := at.of(p.fingerprint)
	if p.overflowed > 0 {
		by.overflowed = append(by.overflowed, p.overflowed)
	}
	switch {
	case e.gone:
		at.gone++
	case silence >= silentAfter:
		by.live++
		at.silent++
		at.name(wire.SilentShard{Shard: e.shard, Since: time.Unix(0, e.last).UTC()})
	case p.below != nil: // the shards below it count, and not the gateway
		by.live += p.below.Reporting + p.below.Silent
		by.reporting += p.below.Reporting
		at.reporting += p.below.Reporting
		at.silent += p.below.Silent
		at.gone += p.below.Gone
		for _, s := range p.below.SilentShards {
			at.name(wire.SilentShard{Shard: e.shard + "/" + s.Shard, Since: s.Since})
		}
	default:
		by.live++
		by.reporting++
		at.reporting++
	}
}

// name a shard, if it is among those that are silent for longest.
func (at *presence) name(s wire.SilentShard) {
	i, _ := slices.BinarySearchFunc(at.named, s, func(a, c wire.SilentShard) int {
		return cmp.Or(a.Since.Compare(c.Since), cmp.Compare(a.Shard, c.Shard))
	})
	if i < wire.MaxSilentShards {
		at.named = slices.Insert(at.named, i, s)
		at.named = at.named[:min(wire.MaxSilentShards, len(at.named))]
	}
}
