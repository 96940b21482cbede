package topk

import (
	"fmt"
	"slices"
)

// Merge adds others to s; they are not changed, unless s is one of them, and on error nothing is. For every key bounds add: lo and
// base where it is resident, min(cells) where it is not. Then s is pruned to its capacity, and what Expect began has ended.
// Many at once take less time than one after the other, and bounds are as tight or tighter.
func (s *Summary) Merge(others ...*Summary) error {
	if err := s.fits(others); err != nil {
		return err
	}
	s.Unpin()
	for len(others) > 0 {
		n := s.together(others)
		s.merge(others[:n])
		others = others[n:]
	}
	return nil
}

// mostTogether others are merged at once.
const mostTogether = 8

// together is how many of others, at least one, are merged at once: with them, the residents stay below twice the capacity.
func (s *Summary) together(others []*Summary) int {
	size := s.residents.size
	for i, o := range others[:min(mostTogether, len(others))] {
		if size += o.residents.size; i > 0 && size > 2*s.capacity {
			return i
		}
	}
	return min(mostTogether, len(others))
}

func (s *Summary) merge(others []*Summary) {
	for i, o := range others {
		if o == s {
			others = slices.Clone(others)
			others[i] = s.Clone()
		}
	}
	// Residents first: what is known of a key from the cells must be read before they change.
	t, least := &s.residents, leastOf(others)
	if least.any() {
		for i := range t.slots {
			t.cold[i].base += least.sum(t.identity(i))
		}
	}
	for _, o := range others {
		u := &o.residents
		t.reserve(u.size)
		for j := range u.slots {
			k := u.identity(j)
			i := t.find(k)
			if i < 0 && u.estimate(j) > 0 { // 0: expected, did not come
				i = insert(t, k, u.key(j), 0, s.least(k)+least.sum(k))
			}
			if i >= 0 {
				t.hot[i].lo += u.hot[j].lo
				t.cold[i].base += u.cold[j].base - o.least(k)
			}
		}
	}
	for _, o := range others {
		s.total, s.hidden, s.records = s.total+o.total, s.hidden+o.hidden, s.records+o.records
		s.addTail(o)
	}
	s.Prune(s.capacity)
}

// leasts adds up min(cells) of a key in several summaries.
type leasts struct {
	width uint64
	five  [mostTogether][]uint32 // as of fiveCells
	fives int
	other [mostTogether]*Summary
	more  int
}

func leastOf(summaries []*Summary) (l leasts) {
	for _, s := range summaries {
		if c := s.fiveCells(); c != nil {
			l.width = uint64(s.shape.Width)
			l.five[l.fives] = c
			l.fives++
		} else if s.tail != nil {
			l.other[l.more] = s
			l.more++
		}
	}
	return l
}

func (l *leasts) any() bool { return l.fives+l.more > 0 }

func (l *leasts) sum(k identity) (sum uint64) {
	i0, i1, i2, i3, i4 := five(k, l.width)
	for _, c := range l.five[:l.fives] {
		sum += uint64(min(c[i0], c[i1], c[i2], c[i3], c[i4]))
	}
	for _, s := range l.other[:l.more] {
		sum += s.least(k)
	}
	return sum
}

// MergeBound adds to s what may have been counted of its keys in o, a summary that covers them and others: upper bounds rise by
// what o knows of each key, lower bounds stay. Total and Records stay, TotalUpper rises by o's.
func (s *Summary) MergeBound(o *Summary) error {
	if err := s.fits([]*Summary{o}); err != nil {
		return err
	}
	covered := o.Clone()
	covered.Prune(0)
	s.Unpin()
	s.hidden += o.TotalUpper()
	t, u := &s.residents, &o.residents
	for i := range t.slots {
		k := t.identity(i)
		if j := u.find(k); j >= 0 {
			t.cold[i].base += u.estimate(j)
		} else {
			t.cold[i].base += o.least(k)
		}
	}
	s.addTail(covered)
	return nil
}

// fits says why others cannot be added to s.
func (s *Summary) fits(others []*Summary) error {
	total, records := s.TotalUpper(), s.records
	for _, o := range others {
		if s.shape != o.shape {
			return fmt.Errorf("%w: cannot merge %v into %v", ErrShape, o.shape, s.shape)
		}
		if o.TotalUpper() > MaxTotal-total || o.records > MaxTotal-records {
			return ErrTotal
		}
		total, records = total+o.TotalUpper(), records+o.records
	}
	return nil
}
