package board

import (
	"fmt"
	"time"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
)

// Accept takes a state that wire has checked; repeats and older sequences are taken and change nothing.
func (b *Board) Accept(s *wire.State, now int64) error {
	if err := b.timely(s, now); err != nil {
		return err
	}
	e, err := b.heard(s.Epoch, s.Shard, now)
	if err != nil {
		return err
	}
	c, err := b.counted(s.Rule, now)
	if err != nil {
		return err
	}
	p := b.reported(e, s.Rule.Name, now)
	if p != nil {
		p.fingerprint = c.fingerprint
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
	return b.store(c, e, s, now)
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

func (b *Board) store(c *counted, e *epoch, s *wire.State, now int64) error {
	m := c.minutes[s.Minute]
	var at *set
	if m != nil {
		folded := false
		if at, folded = m.sets[s.Epoch]; folded && at == nil {
			return b.repeated(m, s, now)
		}
	}
	var st *state
	if at != nil {
		st = at.states[s.Group]
	}
	if st != nil && !st.newer(s) {
		m.expires = b.expiry(s.Minute, now)
		b.stats.Stale++
		return nil
	}
	encoded := s.Encoded
	if encoded == nil {
		var err error
		if encoded, err = s.Summary.AppendBinary(nil); err != nil {
			return fmt.Errorf("board: rule %q: %w", s.Rule.Name, err)
		}
	}
	size := len(encoded)
	if st == nil {
		size += stateBytes
	} else {
		size -= len(st.encoded)
	}
	if err := b.admit(e, size, s.Final); err != nil {
		return err
	}

	if m == nil {
		m = newMinute()
		c.minutes[s.Minute] = m
	}
	if at == nil {
		at = &set{epoch: e, states: map[rule.Group]*state{}}
		m.sets[s.Epoch] = at
	}
	if st == nil {
		st = &state{set: at, group: b.place(c, s.Group)}
		m.add(st, s.Group)
		b.stats.LiveStates++
	}
	b.resize(e, size)
	if s.Final && !st.final {
		at.finals++
	}
	if s.Final {
		at.groups = s.Groups
	}
	st.sequence, st.final, st.encoded = s.Sequence, s.Final, append(st.encoded[:0], encoded...)
	m.changed(st)
	m.expires = b.expiry(s.Minute, now)
	c.touch(st.group, s.Minute)
	c.newest = max(c.newest, s.Newest, s.Minute.Start())
	if st.group == overflow {
		c.overflowed[e.id] = max(c.overflowed[e.id], s.Minute)
	}
	b.stats.Accepted++
	return nil
}

// repeated is what becomes of a state whose set was folded: before retain it can only be a repeat.
func (b *Board) repeated(m *minute, s *wire.State, now int64) error {
	if now >= m.expires {
		b.stats.TooLate++
		return fmt.Errorf("%w: minute %d of rule %q was closed %v after its last state", ErrTooLate, s.Minute, s.Rule.Name, b.cfg.Retain)
	}
	b.stats.Stale++
	return nil
}

// expiry is when a minute takes no more states.
func (b *Board) expiry(m window.Minute, now int64) int64 {
	if b.cfg.Event {
		return now + int64(b.cfg.Retain)
	}
	return m.End() + int64(b.cfg.Retain)
}

// admit says whether n more bytes of live states may be. Past the limit each live shard still has its even share, so that no
// shard can starve the others; final states, by which room is made, may pass it twice.
func (b *Board) admit(e *epoch, n int, final bool) error {
	limit := b.cfg.MaxLiveBytes
	if final {
		limit *= 2
	}
	share := limit / int64(max(b.stats.LiveEpochs, 1))
	if b.stats.LiveBytes+int64(n) > limit && e.bytes+int64(n) > share {
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
