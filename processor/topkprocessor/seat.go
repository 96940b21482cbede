package topkprocessor

import (
	"sync/atomic"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/topk"
)

// expected is how many leading keys of the bucket before a new summary starts with. Summary takes a quarter of its capacity
// at most, and none of a bucket that had room for all its keys.
const expected = 128

// seat is one group's place in one bucket: a cell for each stripe.
type seat struct {
	bucket *bucket
	group  rule.Group
	cells  []cell       // by stripe, each under its stripe's lock; not changed any more once the bucket has closed
	used   atomic.Bool  // has counted, so it is a state
	dirty  atomic.Bool  // has counted since it was emitted
	newest atomic.Int64 // newest event counted
	weight atomic.Uint64

	open atomic.Pointer[openState] // as last encoded; nil: not yet, or closed
}

// cell is what one stripe counted.
type cell struct {
	summary *topk.Summary
	mark    uint64 // of the sorting in which slot is right
	slot    int32
}

func newSeat(b *bucket, g rule.Group) *seat {
	return &seat{bucket: b, group: g, cells: make([]cell, b.ledger.stripes)}
}

// reserve weight, so that all stripes together stay in what one summary takes.
func (s *seat) reserve(weight uint64) bool {
	for {
		old := s.weight.Load()
		if weight > topk.MaxTotal-old {
			return false
		}
		if s.weight.CompareAndSwap(old, old+weight) {
			return true
		}
	}
}

// noteUse after something was counted, the newest of it at ns.
func (s *seat) noteUse(ns int64) {
	raise(&s.newest, ns)
	if !s.used.Load() && s.used.CompareAndSwap(false, true) {
		s.bucket.states.Add(1)
	}
	s.dirty.Store(true)
}

// expect starts a new cell of the stripe with what led the bucket before: in this stripe, or in the first whose lock is free.
// Called with the lock of the stripe held.
func (s *seat) expect(summary *topk.Summary, stripe int, all []*stripe) {
	before := s.bucket.before.Load()
	if before == nil {
		return
	}
	before.mu.RLock()
	prior := before.find(s.group)
	before.mu.RUnlock()
	if prior == nil || prior.group != s.group {
		return
	}
	if own := prior.cells[stripe].summary; own != nil {
		summary.Expect(own, expected)
		return
	}
	for i, other := range all {
		if i == stripe || !other.mu.TryLock() {
			continue
		}
		led := prior.cells[i].summary
		if led != nil {
			summary.Expect(led, expected)
		}
		other.mu.Unlock()
		if led != nil {
			return
		}
	}
}
