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
	longest                 []*epoch // silent for longest, at most silentNamed
	named                   []wire.SilentShard
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
	for _, at := range all {
		for _, e := range at.longest {
			at.named = append(at.named, wire.SilentShard{Shard: e.shard, Since: time.Unix(0, e.last).UTC()})
		}
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
		at.name(e)
	default:
		by.live++
		by.reporting++
		at.reporting++
	}
}

// name e, if it is among those that are silent for longest.
func (at *presence) name(e *epoch) {
	i, _ := slices.BinarySearchFunc(at.longest, e, func(a, c *epoch) int {
		return cmp.Or(cmp.Compare(a.last, c.last), cmp.Compare(a.shard, c.shard))
	})
	if i < silentNamed {
		at.longest = slices.Insert(at.longest, i, e)
		at.longest = at.longest[:min(silentNamed, len(at.longest))]
	}
}
