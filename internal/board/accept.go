package board

import (
	"bytes"
	"fmt"
	"time"

	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
)

// Accept takes a state that wire has checked; repeats and older sequences are taken and change nothing.
func (b *Board) Accept(s *wire.State, now int64) error {
	if b.looped[s.From()] {
		b.stats.Looped++
		return ErrLoop
	}
	if err := b.timely(s, now); err != nil {
		return err
	}
	e, err := b.heard(s.From(), s.Shard, now)
	if err != nil {
		return err
	}
	defer b.keepEpoch(e)
	if s.From() != s.Epoch && !e.gateway {
		e.gateway, e.changed = true, true
	}
	c, err := b.counted(s.Rule, now)
	if err != nil {
		return err
	}
	p := b.reported(e, s.Rule.Name, now)
	if p != nil && p.fingerprint != c.fingerprint {
		p.fingerprint, e.changed = c.fingerprint, true
	}
	if b.cfg.Event {
		first := b.first(c, window.MinuteOf(c.newest))
		if p != nil {
			first = max(first, p.forgotten)
		}
		if s.Minute < first {
			b.stats.TooLate++
			return fmt.Errorf("%w: minute %d, of this shard and rule %q minutes from %d on are taken", ErrTooLate, s.Minute, s.Rule.Name, first)
		}
	}
	return b.store(c, e, p, s, now)
}

// timely says whether s is of a minute that is taken at now.
func (b *Board) timely(s *wire.State, now int64) error {
	if ahead := time.Duration(s.Minute.Start() - now); ahead > aheadLimit {
		b.stats.TooEarly++
		return fmt.Errorf("%w: minute %d begins in %v, at most %v is allowed", ErrTooEarly, s.Minute, ahead, aheadLimit)
	}
	if since := time.Duration(now - s.Minute.End()); !b.cfg.Event && since >= b.cfg.Retain {
		b.stats.TooLate++
		return fmt.Errorf("%w: minute %d ended %v ago, allowed is less than retain, %v", ErrTooLate, s.Minute, since, b.cfg.Retain)
	}
	return nil
}

func (b *Board) store(c *counted, e *epoch, p *reported, s *wire.State, now int64) error {
	m := c.minutes[s.Minute]
	var at *set
	var st *state
	if m != nil {
		if at = m.sets[s.Epoch]; at != nil {
			st = at.states[s.Group]
		} else if _, folded := m.folded[s.Epoch]; folded || m.unknown {
			return b.repeated(c, m, s, now)
		}
	}
	if st != nil && !st.newer(s) || at != nil && at.complete() && !s.Final {
		b.await(c, m, s.Minute, now)
		b.stats.Stale++
		return nil
	}
	next := state{set: at, of: s.Group, sequence: s.Sequence, newest: s.Newest, weight: weightOf(s), final: s.Final, encoded: s.Encoded}
	if next.encoded == nil {
		var err error
		if next.encoded, err = s.Summary.AppendBinary(nil); err != nil {
			return fmt.Errorf("board: rule %q: %w", s.Rule.Name, err)
		}
	}
	if err := b.admit(e, m, at, st, &next); err != nil {
		return err
	}
	body, err := b.body(s, next.encoded)
	if err != nil {
		return err
	}

	if m == nil {
		m = newMinute()
		c.minutes[s.Minute] = m
	}
	if at == nil {
		at = newSet(m, s, e)
		m.sets[s.Epoch] = at
		b.identities++
	}
	if st == nil {
		st = &state{set: at, of: s.Group, group: b.place(c, s.Group)}
		m.add(st)
		c.groups[st.group].live++
		b.stats.LiveStates++
		b.resize(e, st.bytes())
	}
	b.resize(e, len(next.encoded)-len(st.encoded))
	b.weigh(m, at, at.weight-st.weight+next.weight)
	if s.Final {
		b.final(m, at, st, s)
	}
	if !bytes.Equal(st.encoded, next.encoded) {
		st.encoded = append(st.encoded[:0], next.encoded...)
		m.changed(st)
	}
	st.sequence, st.newest, st.weight = next.sequence, next.newest, next.weight
	m.choose(at, s.Group)
	b.await(c, m, s.Minute, now)
	c.touch(st.group, s.Minute)
	c.mark(st.group, s.Minute)
	c.newest = max(c.newest, s.Newest, s.Minute.Start())
	if st.group == overflow && p != nil && s.Minute > p.overflowed {
		p.overflowed, e.changed = s.Minute, true
	}
	if body != nil {
		b.cfg.Shelf.Set(stateKey(c.id, s.Minute, s.Epoch, s.Group), stateValue(body, st.group == overflow && s.Group != overflow))
	}
	if at.complete() {
		b.supersede(c, m, s.Minute, at)
	}
	b.stats.Accepted++
	return nil
}

// final notes that a state is final now.
func (b *Board) final(m *minute, at *set, st *state, s *wire.State) {
	was := at.ripe()
	if !st.final {
		st.final = true
		at.finals++
	}
	at.groups = s.Groups
	switch is := at.ripe(); {
	case is && !was:
		m.ripe++
	case was && !is:
		m.ripe--
	}
}

// supersede lets go of a complete set what never became final.
func (b *Board) supersede(c *counted, m *minute, minute window.Minute, at *set) {
	for _, g := range sorted(at.states) {
		st := at.states[g]
		if st.final {
			continue
		}
		m.drop(st)
		m.choose(at, g)
		b.let(c, minute, st)
		b.weigh(m, at, at.weight-st.weight)
		c.touch(st.group, minute)
		c.mark(st.group, minute)
		b.stats.Superseded++
	}
}

// let go a state that was live.
func (b *Board) let(c *counted, m window.Minute, st *state) {
	b.resize(st.set.epoch, -st.bytes())
	c.groups[st.group].live--
	b.stats.LiveStates--
	b.remove(stateKey(c.id, m, st.set.id, st.of))
}

// repeated is what becomes of a state whose set was folded: before retain it can only be a repeat.
func (b *Board) repeated(c *counted, m *minute, s *wire.State, now int64) error {
	switch {
	case now >= m.expires:
		b.stats.TooLate++
		return fmt.Errorf("%w: minute %d of rule %q was closed %v after its last state", ErrTooLate, s.Minute, s.Rule.Name, b.cfg.Retain)
	case m.unknown:
		b.stats.TooLate++
		return fmt.Errorf("%w: minute %d of rule %q is closed, as whose states it holds could not be read", ErrTooLate, s.Minute, s.Rule.Name)
	}
	b.await(c, m, s.Minute, now)
	b.stats.Stale++
	return nil
}

// await more states of a minute until its expiry.
func (b *Board) await(c *counted, m *minute, at window.Minute, now int64) {
	m.expires = b.expiry(at, now)
	if b.cfg.Event {
		b.keepSets(c, at, m)
	}
}

// expiry of a minute of which a state comes now.
func (b *Board) expiry(m window.Minute, now int64) int64 {
	if b.cfg.Event {
		return now + int64(b.cfg.Retain)
	}
	return m.End() + int64(b.cfg.Retain)
}

// admit says whether next may come, in place of st if there is one.
func (b *Board) admit(e *epoch, m *minute, at *set, st, next *state) error {
	weight, size := next.weight, next.bytes()
	before := uint64(0)
	if at == nil {
		if err := b.admitSet(m); err != nil {
			return err
		}
	} else {
		before = at.weight
		weight += at.weight
	}
	if st != nil {
		weight -= st.weight
		size = len(next.encoded) - len(st.encoded)
	}
	if err := b.admitWeight(m, before, weight); err != nil {
		return err
	}
	return b.admitBytes(e, size, next.final)
}

// hardLimit is how many times Config.MaxLiveBytes live states take at most.
const hardLimit = 4

// admitBytes says whether n more bytes of live states may be. Past the limit each live shard still has its even share, until
// all have twice the limit, so that no shard can starve the others; for final states, by which room is made, the limit is twice as much.
func (b *Board) admitBytes(e *epoch, n int, final bool) error {
	limit := b.cfg.MaxLiveBytes
	if final {
		limit *= 2
	}
	share := limit / int64(max(b.stats.LiveEpochs, 1))
	all := b.stats.LiveBytes + int64(n)
	if all > 2*limit || all > limit && e.bytes+int64(n) > share {
		b.stats.Overloaded++
		return fmt.Errorf("%w: live states hold %d of %d bytes, this shard's %d of an even share of %d",
			ErrOverloaded, b.stats.LiveBytes, limit, e.bytes, share)
	}
	return nil
}

func (b *Board) resize(e *epoch, n int) {
	e.bytes += int64(n)
	b.stats.LiveBytes += int64(n)
}
