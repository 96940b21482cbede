package board

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
)

// epoch is one life of one shard. It is live until it says goodbye or is silent for goneAfter.
type epoch struct {
	id          wire.Epoch
	shard       string
	first, last int64 // when it was heard of
	goodbye     bool
	gone        bool
	bytes       int64 // of its live states
	rules       map[string]*reported
}

// reported is what an epoch said of one rule.
type reported struct {
	since       int64
	told        wire.RuleReport // cumulative, the highest of each
	unplaced    incidents       // not yet attributed to a minute
	fingerprint string          // of the last state; "": none came
	forgotten   window.Minute   // with Config.Event, of minutes before it is no longer known what was folded
}

// Report notes that a shard lives and what did not become part of its states.
func (b *Board) Report(r *wire.Report, now int64) error {
	if e := b.epochs[r.Epoch]; r.Goodbye && (e == nil || e.gone) {
		if e != nil {
			e.goodbye = true
		}
		return nil
	}
	e, err := b.heard(r.Epoch, r.Shard, now)
	if err != nil {
		return err
	}
	for i := range r.Rules {
		if p := b.reported(e, r.Rules[i].Rule, now); p != nil {
			p.tell(&r.Rules[i])
		}
	}
	if r.Goodbye {
		e.goodbye = true
		b.leave(e)
	}
	return nil
}

// heard finds or admits a live epoch. Once it has said goodbye, what still comes of it is taken but makes it no shard again.
func (b *Board) heard(id wire.Epoch, shard string, now int64) (*epoch, error) {
	e := b.epochs[id]
	if e == nil || e.gone && !e.goodbye {
		if b.stats.LiveEpochs >= b.cfg.MaxEpochs {
			b.stats.Overloaded++
			return nil, fmt.Errorf("%w: %d shards are live, at most %d may be", ErrOverloaded, b.stats.LiveEpochs, b.cfg.MaxEpochs)
		}
		b.stats.LiveEpochs++
	}
	if e == nil {
		e = &epoch{id: id, first: now, rules: map[string]*reported{}}
		b.epochs[id] = e
	}
	e.gone = e.goodbye
	e.shard = shard
	e.last = max(e.last, now)
	return e, nil
}

func (b *Board) leave(e *epoch) {
	if !e.gone {
		e.gone = true
		b.stats.LiveEpochs--
	}
}

// reported is nil where a shard names more rules than there may be.
func (b *Board) reported(e *epoch, name string, now int64) *reported {
	p := e.rules[name]
	if p == nil && len(e.rules) < b.cfg.MaxRules {
		p = &reported{since: now}
		e.rules[name] = p
	}
	return p
}

// tell takes what is new in a cumulative report. Older ones, which come late, tell nothing.
func (p *reported) tell(r *wire.RuleReport) {
	grow := func(told, unplaced *uint64, v uint64) {
		if v > *told {
			*unplaced += v - *told
			*told = v
		}
	}
	grow(&p.told.Records, &p.unplaced.records, r.Records)
	grow(&p.told.Late, &p.unplaced.late, r.Late)
	grow(&p.told.Future, &p.unplaced.future, r.Future)
	grow(&p.told.Dropped, &p.unplaced.dropped, r.Dropped)
}

// presence of the shards of one rule.
type presence struct {
	reporting, silent, gone int
	silentEpochs            []*epoch
	reportingBy             map[string]int // by fingerprint
	liveBy                  map[string]int // by fingerprint; silent ones included
	unplaced                incidents
}

// presences looks at every shard: it lets those go that were silent for too long, and forgets those that were gone for a
// day, or are too many. An epoch that fell silent before another one of the same shard began was restarted: it is gone.
func (b *Board) presences(now int64) map[string]*presence {
	restarted := make(map[string]int64, len(b.epochs)) // shard: when its last epoch began
	for _, e := range b.epochs {
		restarted[e.shard] = max(restarted[e.shard], e.first)
	}
	gone := make([]*epoch, 0, len(b.epochs)-b.stats.LiveEpochs)
	all := map[string]*presence{}
	for _, e := range b.epochs {
		silence := time.Duration(now - e.last)
		if silence >= goneAfter || silence >= silentAfter && restarted[e.shard] > e.last {
			b.leave(e)
		}
		if e.gone {
			gone = append(gone, e)
		}
		for name, p := range e.rules {
			if b.rules[name] == nil {
				continue
			}
			at := all[name]
			if at == nil {
				at = &presence{reportingBy: map[string]int{}, liveBy: map[string]int{}}
				all[name] = at
			}
			at.see(e, p, silence)
		}
	}
	slices.SortFunc(gone, func(a, c *epoch) int { return cmp.Compare(c.last, a.last) })
	for i, e := range gone {
		if i >= b.cfg.MaxEpochs || time.Duration(now-e.last) >= forgottenAfter {
			delete(b.epochs, e.id)
		}
	}
	return all
}

func (at *presence) see(e *epoch, p *reported, silence time.Duration) {
	at.unplaced.add(p.unplaced)
	p.unplaced = incidents{}
	if e.gone {
		at.gone++
		return
	}
	at.liveBy[p.fingerprint]++
	if silence >= silentAfter {
		at.silent++
		at.silentEpochs = append(at.silentEpochs, e)
		return
	}
	at.reporting++
	at.reportingBy[p.fingerprint]++
}
