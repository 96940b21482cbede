package board

import (
	"fmt"

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
	gateway     bool         // what it sends was counted by others
	through     []wire.Epoch // as it told last
	bytes       int64        // of its live states
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
	below       *wire.Below     // of a gateway
	fingerprint string          // of the last state; "": none came
	forgotten   window.Minute   // with Config.Event, of minutes before it is no longer known what was folded
	overflowed  window.Minute   // the newest minute with an overflow; 0: none
}

// Report notes that a shard lives and what did not become part of its states.
func (b *Board) Report(r *wire.Report, now int64) error {
	if err := b.admitThrough(r); err != nil {
		return err
	}
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
	e.through = r.Through
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
	if most := 2 * b.cfg.MaxEpochs; e == nil && len(b.epochs) >= most {
		b.stats.Overloaded++
		return nil, fmt.Errorf("%w: %d shards are known, at most %d may be until some that are gone are forgotten", ErrOverloaded, len(b.epochs), most)
	}
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
	p.below = told.Below
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
