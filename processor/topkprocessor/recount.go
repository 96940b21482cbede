package topkprocessor

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/otel-topk/collector/internal/depot"
	"github.com/otel-topk/collector/internal/uplink"
	"github.com/otel-topk/collector/internal/wire"
)

// recount counts again what another process had counted and not closed: a checkpoint, then the entries after it. Entries are
// judged as they were then, but for what came late to an event clock: in which order requests moved it is not known.
type recount struct {
	vault    *vault
	sequence uint64   // of the checkpoint
	counter  *counter // of the other process
	byName   map[string]*ledger

	states  int // found in the checkpoint
	entries int // counted
	strange int // of another process still
}

func newRecount(v *vault, r *run, sequence uint64) (*recount, error) {
	cfg, clock := *v.counter.cfg, r.clock
	cfg.Clock = clockWall
	if clock.Event {
		cfg.Clock, clock.Lateness = clockEvent, math.MaxInt64
	}
	c := &counter{cfg: &cfg, logger: v.counter.logger, epoch: r.epoch, shard: r.shard, stripes: newStripes(1), pending: uplink.NewPending(0, nil, nil)}
	rc := &recount{vault: v, sequence: sequence, counter: c, byName: map[string]*ledger{}}
	for i, rr := range r.rules {
		l, err := ledgerOf(rr.definition, len(c.stripes))
		if err != nil {
			return nil, fmt.Errorf("rule %q: %w", rr.definition.Name, err)
		}
		l.index, l.maxGroups, l.clock = i, rr.maxGroups, clock
		l.floor.Store(rr.floor)
		c.ledgers = append(c.ledgers, l)
		rc.byName[rr.definition.Name] = l
	}
	var err error
	c.merger, err = newMerger(c)
	return rc, err
}

// raise the floor of a rule.
func (rc *recount) raise(index uint64, floor int64) {
	if index < uint64(len(rc.counter.ledgers)) {
		raise(&rc.counter.ledgers[index].floor, floor)
	}
}

// closed is the bucket of a final state that was stored, and all its final states with it.
func (rc *recount) closed(s *wire.State) {
	if l := rc.byName[s.Rule.Name]; l != nil && s.Epoch == rc.counter.epoch {
		raise(&l.floor, int64(s.Minute)+1)
	}
}

// addState of the checkpoint. Its group has the place that it had.
func (rc *recount) addState(s *wire.State) error {
	l := rc.byName[s.Rule.Name]
	switch {
	case l == nil || l.definition.Fingerprint() != s.Rule.Fingerprint():
		return errStored
	case int64(s.Minute) < l.floor.Load():
		return nil // closed since
	}
	b := l.buckets[s.Minute]
	if b == nil {
		b = newBucket(l, s.Minute, nil)
		l.buckets[s.Minute] = b
	}
	to := b.seat(s.Group)
	if to.group != s.Group || to.cells[0].summary != nil || !to.reserve(s.Summary.Total()) {
		return errStored
	}
	to.cells[0].summary = s.Summary
	to.noteUse(s.Newest)
	rc.states++
	return nil
}

// closePlaces where a group that has none may have counted in overflow: it must not get a list of its own any more.
func (rc *recount) closePlaces() {
	for _, l := range rc.counter.ledgers {
		for _, b := range l.buckets {
			if b.overflow != nil && b.overflow.used.Load() {
				b.full = true
			}
		}
	}
}

// visit the journal.
func (rc *recount) visit(value depot.Value) {
	if n, ok := numberOf(journalKey, value.Key); ok && n > rc.sequence {
		rc.vault.read(value, rc.addEntry)
	}
}

func (rc *recount) addEntry(b []byte) error {
	epoch, now, columns, err := readEntry(b)
	if err != nil {
		return err
	}
	if epoch != rc.counter.epoch {
		rc.strange++
		return nil
	}
	for _, c := range columns {
		if c.rule >= len(rc.counter.ledgers) || rc.counter.ledgers[c.rule].definition.Grouped() != (c.batch.Groups != nil) {
			return errStored
		}
	}
	for _, c := range columns {
		rc.counter.stripes[0].count(rc.counter.ledgers[c.rule], &c.batch, now)
	}
	rc.entries++
	return nil
}

// finals of all that was counted, oldest first.
func (rc *recount) finals(now int64) []*uplink.Final {
	var all []*uplink.Final
	for _, l := range rc.counter.ledgers {
		for _, b := range l.buckets {
			b.unpin(0)
			all = append(all, rc.counter.merger.finish(b, now)...)
		}
	}
	slices.SortFunc(all, func(a, b *uplink.Final) int {
		return cmp.Or(cmp.Compare(a.State.Minute, b.State.Minute), cmp.Compare(a.ID, b.ID))
	})
	return all
}
