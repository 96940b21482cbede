package board

// drawer holds the bytes of parts in memory: all of them, or with a Shelf those that were used last.
type drawer struct {
	limit int64 // -1: none
	bytes int64
	last  held // stands before the one that was used last, and after the one that was used first
}

// held is a part's value.
type held struct {
	value       []byte
	in          part
	of          tag
	newer, next *held
}

func newDrawer(limit int64) *drawer {
	d := &drawer{limit: limit}
	d.last.newer, d.last.next = &d.last, &d.last
	return d
}

// put value, which is what p holds of g.
func (d *drawer) put(p part, g tag, value []byte) {
	s := p[g]
	d.take(s)
	h := &held{value: value, in: p, of: g}
	s.held = h
	p[g] = s
	d.bytes += int64(len(value))
	d.lead(h)
	for d.limit >= 0 && d.bytes > d.limit {
		first := d.last.newer
		s := first.in[first.of]
		d.take(s)
		s.held = nil
		first.in[first.of] = s
	}
}

// use says that h was used.
func (d *drawer) use(h *held) {
	h.newer.next, h.next.newer = h.next, h.newer
	d.lead(h)
}

func (d *drawer) lead(h *held) {
	h.newer, h.next = &d.last, d.last.next
	h.next.newer, d.last.next = h, h
}

// take what is held of s out.
func (d *drawer) take(s stored) {
	if h := s.held; h != nil {
		h.newer.next, h.next.newer = h.next, h.newer
		d.bytes -= int64(len(h.value))
	}
}
