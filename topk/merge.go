package topk

import "fmt"

// Merge adds o to s; o is not changed, unless it is s. For every key bounds add: lo and base where it is resident, min(cells)
// where it is not. Then s is pruned to its capacity, and what Expect began has ended.
func (s *Summary) Merge(o *Summary) error {
	if err := s.fits(o); err != nil {
		return err
	}
	s.Unpin()
	s.total, s.hidden, s.records = s.total+o.total, s.hidden+o.hidden, s.records+o.records
	// Residents first: what is known of a key from the cells must be read before they change.
	t, u := &s.residents, &o.residents
	for i := range t.slots {
		k := t.identity(i)
		if j := u.find(k); j >= 0 {
			t.hot[i].lo += u.hot[j].lo
			t.cold[i].base += u.cold[j].base
		} else {
			t.cold[i].base += o.least(k)
		}
	}
	t.reserve(u.size)
	for j := range u.slots {
		// 0: expected, did not come
		if k := u.identity(j); u.estimate(j) > 0 && t.find(k) < 0 {
			insert(t, k, u.key(j), u.hot[j].lo, u.cold[j].base+s.least(k))
		}
	}
	s.addTail(o)
	s.Prune(s.capacity)
	return nil
}

// MergeBound adds to s what may have been counted of its keys in o, a summary that covers them and others: upper bounds rise by
// what o knows of each key, lower bounds stay. Total and Records stay, TotalUpper rises by o's.
func (s *Summary) MergeBound(o *Summary) error {
	if err := s.fits(o); err != nil {
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

// fits says why o cannot be added to s.
func (s *Summary) fits(o *Summary) error {
	if s.shape != o.shape {
		return fmt.Errorf("%w: cannot merge %v into %v", ErrShape, o.shape, s.shape)
	}
	if o.TotalUpper() > MaxTotal-s.TotalUpper() || o.records > MaxTotal-s.records {
		return ErrTotal
	}
	return nil
}
