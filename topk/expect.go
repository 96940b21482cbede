package topk

// maxPinned is the divisor of the capacity that gives the most pinned residents.
const maxPinned = 4

// Expect makes residents of the n leading keys of prev, the summary of the time before, at no weight: the law holds, for nothing
// was counted yet. Those that come are then counted exactly from their first record; without it, most of their weight before
// they enter the table is only bounded. They are pinned, at most a quarter of the capacity: a purge passes them by until Unpin,
// Prune, Merge or MergeBound. It does nothing if s is not empty, or if prev is exact: then all keys have room anyway.
func (s *Summary) Expect(prev *Summary, n int) {
	if s.records > 0 || s.TotalUpper() > 0 || s.residents.size > 0 || prev.tail == nil {
		return
	}
	for _, it := range prev.Top(min(n, s.capacity/maxPinned)).Items {
		s.residents.pin(insert(&s.residents, identify(it.Key, s.shape.Seed), it.Key, 0, 0))
	}
}

// Unpin ends what Expect began, when a bucket closes: expected keys that did not come go, the others are like any resident.
func (s *Summary) Unpin() {
	t := &s.residents
	if t.pinned == 0 {
		return
	}
	b := scratches.Get().(*scratch)
	defer scratches.Put(b)
	order, pinned := t.order(b)
	keep := len(order)
	for i := pinned - 1; i >= 0; i-- {
		t.cold[order[i].slot].pinned = false
		if t.estimate(order[i].slot) == 0 {
			keep--
			order[i], order[keep] = order[keep], order[i]
		}
	}
	t.pinned = 0
	t.drop(b, keep)
}
