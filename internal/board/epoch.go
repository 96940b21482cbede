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
	reports     []*reported // the same, in the order in which they came
	changed     bool        // since it was stored
}

// reported is what an epoch said of one rule.
type reported struct {
	rule        string
	since       int64
	told        wire.RuleReport // cumulative, the highest of each
	unplaced    incidents       // not yet attributed to a minute
	fingerprint string          // of the last state; "": none came
	forgotten   window.Minute   // with Config.Event, of minutes before it is no longer known what was folded
	overflowed  window.Minute   // the newest minute with an overflow; 0: none
}

// Report notes that a shard lives and what did not become part of its states.
func (b *Board) Report(r *wire.Report, now int64) error {
	if e := b.epochs[r.Epoch]; r.Goodbye && (e == nil || e.gone) {
		if e != nil {
			e.goodbye, e.changed = true, true
			b.keepEpoch(e)
		}
		return nil
	}
	e, err := b.heard(r.Epoch, r.Shard, now)
	if err != nil {
		return err
	}
	for i := range r.Rules {
		if p := b.reported(e, r.Rules[i].Rule, now); p != nil {
			b.tell(e, p, &r.Rules[i], now)
		}
	}
	if r.Goodbye {
		e.goodbye = true
		b.leave(e)
	}
	b.keepEpoch(e)
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
		e = &epoch{id: id, first: now, rules: map[string]*reported{}, changed: true}
		b.epochs[id] = e
	}
	e.changed = e.changed || e.gone != e.goodbye || e.shard != shard || e.last != now
	e.gone = e.goodbye
	e.shard = shard
	e.last = now
	return e, nil
}

func (b *Board) leave(e *epoch) {
	if !e.gone {
		e.gone, e.changed = true, true
		b.stats.LiveEpochs--
	}
}

// reported is nil where a shard names more rules than there may be.
func (b *Board) reported(e *epoch, name string, now int64) *reported {
	p := e.rules[name]
	if p == nil && len(e.rules) < b.cfg.MaxRules {
		p = &reported{rule: name, since: now}
		e.add(p)
	}
	return p
}

func (e *epoch) add(p *reported) {
	e.rules[p.rule] = p
	e.reports = append(e.reports, p)
	e.changed = true
}

// tell takes what is new in a cumulative report. Older ones, which come late, tell nothing. It happened in the minute in
// which windows end now, where that is known.
func (b *Board) tell(e *epoch, p *reported, told *wire.RuleReport, now int64) {
	var news incidents
	grow := func(before, more *uint64, v uint64) {
		if v > *before {
			*more, *before = v-*before, v
		}
	}
	grow(&p.told.Records, &news.records, told.Records)
	grow(&p.told.Late, &news.late, told.Late)
	grow(&p.told.Future, &news.future, told.Future)
	grow(&p.told.Dropped, &news.dropped, told.Dropped)
	if news == (incidents{}) {
		return
	}
	e.changed = true
	if r := b.rules[p.rule]; r != nil && r.served != nil {
		b.note(r, b.newest(r.served, now), news)
	} else {
		p.unplaced.add(news)
	}
}

// presence of the shards of one rule.
type presence struct {
	reporting, silent, gone int
	silentEpochs            []*epoch
	reportingBy             map[string]int // by fingerprint
	liveBy                  map[string]int // by fingerprint; silent ones included
	unplaced                incidents
	overflowed              map[string][]window.Minute // by fingerprint: of each shard with an overflow, the newest
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
		if e.last > now { // the clock was set back
			e.first, e.last, e.changed = min(e.first, now), now, true
		}
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
			if b.rules[p.rule] == nil {
				continue
			}
			at := all[p.rule]
			if at == nil {
				at = &presence{reportingBy: map[string]int{}, liveBy: map[string]int{}, overflowed: map[string][]window.Minute{}}
				all[p.rule] = at
			}
			at.see(e, p, silence)
		}
		b.keepEpoch(e)
	}
	slices.SortFunc(gone, func(a, c *epoch) int { return cmp.Compare(c.last, a.last) })
	for i, e := range gone {
		if i >= b.cfg.MaxEpochs || time.Duration(now-e.last) >= forgottenAfter {
			delete(b.epochs, e.id)
			b.remove(epochKey(e.id))
		}
	}
	return all
}

func (at *presence) see(e *epoch, p *reported, silence time.Duration) {
	if p.unplaced != (incidents{}) {
		at.unplaced.add(p.unplaced)
		p.unplaced, e.changed = incidents{}, true
	}
	if p.overflowed > 0 {
		at.overflowed[p.fingerprint] = append(at.overflowed[p.fingerprint], p.overflowed)
	}
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
