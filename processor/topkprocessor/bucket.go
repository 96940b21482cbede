package topkprocessor

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
)

// bucket is one minute of a rule: who has a place in it. Groups get their places for the whole minute: the heaviest of the
// bucket before are sure of theirs, up to half of all places, the others as they come; who comes too late counts in overflow.
type bucket struct {
	ledger   *ledger
	minute   window.Minute
	start    int64                  // first nanosecond
	end      int64                  // first nanosecond after it
	reserved map[string]struct{}    // groups that are sure of a place
	places   int                    // for the groups that are not
	before   atomic.Pointer[bucket] // whose leading keys are expected; nil: none
	states   atomic.Int32           // seats that have counted

	global, missing, overflow *seat

	mu     sync.RWMutex
	groups map[string]*seat
	full   bool // all places are taken
}

func newBucket(l *ledger, m window.Minute, before *bucket) *bucket {
	b := &bucket{ledger: l, minute: m, start: m.Start(), end: m.End()}
	b.before.Store(before)
	if !l.definition.Grouped() {
		b.global = newSeat(b, rule.Group{Scope: rule.ScopeGlobal})
		return b
	}
	b.missing = newSeat(b, rule.Group{Scope: rule.ScopeMissing})
	b.overflow = newSeat(b, rule.Group{Scope: rule.ScopeOverflow})
	b.groups = map[string]*seat{}
	if before != nil {
		b.reserved = before.heaviest(l.maxGroups / 2)
	}
	b.places = l.maxGroups - len(b.reserved)
	b.full = b.places == 0
	return b
}

// heaviest n groups so far.
func (b *bucket) heaviest(n int) map[string]struct{} {
	b.mu.RLock()
	defer b.mu.RUnlock()
	type heavy struct {
		name   string
		weight uint64
	}
	all := make([]heavy, 0, len(b.groups))
	for name, s := range b.groups {
		all = append(all, heavy{name, s.weight.Load()})
	}
	slices.SortFunc(all, func(x, y heavy) int {
		return cmp.Or(cmp.Compare(y.weight, x.weight), strings.Compare(x.name, y.name))
	})
	names := make(map[string]struct{}, n)
	for _, h := range all[:min(n, len(all))] {
		names[h.name] = struct{}{}
	}
	return names
}

// find is the seat of a group, or nil if it has none yet. Called with b.mu held for reading.
func (b *bucket) find(g rule.Group) *seat {
	switch g.Scope {
	case rule.ScopeGlobal:
		return b.global
	case rule.ScopeMissing:
		return b.missing
	case rule.ScopeOverflow:
		return b.overflow
	}
	if s := b.groups[g.Name]; s != nil {
		return s
	}
	if _, sure := b.reserved[g.Name]; b.full && !sure {
		return b.overflow
	}
	return nil
}

// admit gives a group that find did not know a place. Called without b.mu.
func (b *bucket) admit(g rule.Group) *seat {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.find(g); s != nil {
		return s
	}
	name := strings.Clone(g.Name)
	s := newSeat(b, rule.Group{Scope: g.Scope, Name: name})
	b.groups[name] = s
	if _, sure := b.reserved[name]; !sure {
		b.places--
		b.full = b.places == 0
	}
	return s
}

// seat of any group.
func (b *bucket) seat(g rule.Group) *seat {
	if g.Scope == rule.ScopeGlobal {
		return b.global
	}
	b.mu.RLock()
	s := b.find(g)
	b.mu.RUnlock()
	if s == nil {
		s = b.admit(g)
	}
	return s
}

// seats that have counted, in no order.
func (b *bucket) seats() []*seat {
	if b.global != nil {
		return counted(nil, b.global)
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	all := make([]*seat, 0, len(b.groups)+2)
	for _, s := range b.groups {
		all = counted(all, s)
	}
	return counted(all, b.missing, b.overflow)
}

// unpin what a stripe expected; the stripe's lock is held.
func (b *bucket) unpin(stripe int) {
	for _, s := range b.seats() {
		if cell := s.cells[stripe].summary; cell != nil {
			cell.Unpin()
		}
	}
}

func counted(to []*seat, from ...*seat) []*seat {
	for _, s := range from {
		if s.used.Load() {
			to = append(to, s)
		}
	}
	return to
}

// contains says whether the bucket is that of ns.
func (b *bucket) contains(ns int64) bool { return b.start <= ns && ns < b.end }

// noTime is outside of every bucket.
const noTime = math.MinInt64
