package topk

import "sync"

// scratch of ordering and purging, shared by all summaries: in steady state a purge allocates nothing.
type scratch struct {
	order     []ranked
	displaced []resident
	keys      []byte
}

type resident struct {
	hot
	cold
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// purge makes room in a full table: of the residents that are not pinned the last half goes.
func (s *Summary) purge() {
	b := scratches.Get().(*scratch)
	defer scratches.Put(b)
	order, pinned := s.residents.order(b)
	s.flush(b, pinned, pinned+(len(order)-pinned)/2)
}

// Prune keeps exactly the first min(n, size) residents in the order of Top, and ends what Expect began.
func (s *Summary) Prune(n int) {
	s.Unpin()
	if n = max(n, 0); n >= s.residents.size {
		return
	}
	b := scratches.Get().(*scratch)
	defer scratches.Put(b)
	s.residents.order(b)
	s.flush(b, 0, n)
}

// flush keeps the first of b.order up to keep, of which those before from are set; the others, none of them pinned, go into the
// tail: cell = max(cell, estimate), and theta = max(theta, the largest estimate that goes).
func (s *Summary) flush(b *scratch, from, keep int) {
	t := &s.residents
	t.lead(b.order[from:], keep-from)
	var largest uint64
	for _, r := range b.order[keep:] {
		largest = max(largest, t.estimate(r.slot))
	}
	s.ensureTail()
	s.setTheta(max(s.theta, largest))
	for _, r := range b.order[keep:] {
		k := t.identity(r.slot)
		s.raise(k, t.estimate(r.slot))
		if t.hot[r.slot].lo > 0 { // 0: only MergeBound knows of it
			s.tail.seen.touch(k.id)
		}
	}
	t.drop(b, keep)
}

// drop takes all of b.order but the first keep out of the table.
func (t *table) drop(b *scratch, keep int) {
	for _, r := range b.order[keep:] {
		t.empty(r.slot)
	}
	b.displaced, b.keys = b.displaced[:0], b.keys[:0]
	mask := uint64(len(t.tags) - 1)
	for _, r := range b.order[:keep] {
		c := &t.cold[r.slot]
		at := uint32(len(b.keys))
		b.keys = append(b.keys, t.key(r.slot)...)
		c.at = at
		if c.place>>7&mask != uint64(r.slot/lanes) {
			b.displaced = append(b.displaced, resident{t.hot[r.slot], *c})
			t.empty(r.slot)
		}
	}
	t.keys = append(t.keys[:0], b.keys...)
	t.size = keep
	for _, r := range b.displaced { // between their home and them there may be room now, where a search would end
		t.put(r.hot, r.cold)
	}
}
