package topk

import "sync"

// scratch of ordering and purging, shared by all summaries: in steady state a purge allocates nothing.
type scratch struct {
	order []ranked
	hot   []hot
	cold  []cold
	keys  []byte
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// purge makes room in a full table: of the residents that are not pinned the last half goes.
func (s *Summary) purge() {
	b := scratches.Get().(*scratch)
	defer scratches.Put(b)
	b.order = s.residents.order(b.order[:0], false)
	s.flush(b, len(b.order)/2)
}

// Prune keeps exactly the first min(n, size) residents in the order of Top, and ends what Expect began.
func (s *Summary) Prune(n int) {
	s.Unpin()
	if n = max(n, 0); n >= s.residents.size {
		return
	}
	b := scratches.Get().(*scratch)
	defer scratches.Put(b)
	b.order = s.residents.order(b.order[:0], true)
	s.flush(b, n)
}

// flush moves all of b.order but the first keep into the tail: cell = max(cell, estimate), and theta = max(theta, the largest
// estimate that goes).
func (s *Summary) flush(b *scratch, keep int) {
	t := &s.residents
	t.lead(b.order, keep)
	var largest uint64
	for _, r := range b.order[keep:] {
		largest = max(largest, t.estimate(r.slot))
	}
	if largest > 0 { // else only expected keys go, that did not come
		s.ensureTail()
		s.setTheta(max(s.theta, largest))
	}
	for _, r := range b.order[keep:] {
		k := t.identity(r.slot)
		if e := t.estimate(r.slot); e > 0 {
			s.raise(k, e)
		}
		if t.hot[r.slot].lo > 0 {
			s.tail.seen.touch(k.id)
		}
		t.cold[r.slot].gone = true
	}
	t.sweep(b)
}
