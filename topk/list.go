package topk

import "math"

// Item of a List. The weight of Key is at least Lower and at most Estimate.
type Item struct {
	Key             string
	Estimate, Lower uint64
	Certain         bool // it belongs in this list, ties aside
	RankCertain     bool // it belongs at this place, ties aside
}

// List is the answer of Top: at most K items by estimate descending, ties by key, and what is needed to certify any shorter list.
type List struct {
	K         int
	Items     []Item
	Theta     uint64 // bounds every key that is not resident
	Next      uint64 // estimate of item K+1; 0: there is none
	Certified bool   // every item is certain and none is missing: ties aside, no other list of K is right
}

// Top lists the k residents with the largest estimates. It never lists a key without weight.
func (s *Summary) Top(k int) List {
	k = max(k, 0)
	b := scratches.Get().(*scratch)
	defer scratches.Put(b)
	t := &s.residents
	order, _ := t.order(b)
	if k < len(order) {
		t.lead(order, k+1)
		order = order[:k+1]
	}
	t.sort(order, 0)
	for len(order) > 0 && t.estimate(order[len(order)-1].slot) == 0 { // expected, did not come
		order = order[:len(order)-1]
	}
	l := List{K: k, Theta: s.theta}
	if k < len(order) {
		l.Next = t.estimate(order[k].slot)
		order = order[:k]
	}
	l.Items = make([]Item, len(order))
	for i, r := range order {
		l.Items[i] = Item{Key: string(t.key(r.slot)), Estimate: t.estimate(r.slot), Lower: t.hot[r.slot].lo}
	}
	l.certify()
	return l
}

// First is the list of the first k of l, its certificates worked out for k, which is at most K. A List read from a snapshot
// (K, Items with Key, Estimate and Lower, Theta, Next) gets its certificates by First(K).
func (l List) First(k int) List {
	k = min(max(k, 0), l.K)
	f := List{K: k, Theta: l.Theta, Next: l.Next}
	n := min(k, len(l.Items))
	if k < len(l.Items) {
		f.Next = l.Items[k].Estimate
	}
	f.Items = append(make([]Item, 0, n), l.Items[:n]...)
	f.certify()
	return f
}

// Unlisted bounds the weight of every key outside l: that of residents below it by the next one's estimate, that of all others by
// Theta.
func (l List) Unlisted() uint64 { return max(l.Theta, l.Next) }

// Gap is how far the estimate of the last item is above Unlisted. A list of K items is certified where it
// is more than ErrorBound; where it comes near, the summary is small for the stream.
func (l List) Gap() uint64 {
	if len(l.Items) == 0 {
		return 0
	}
	last := l.Items[len(l.Items)-1].Estimate
	return last - min(last, l.Unlisted())
}

// ErrorBound is the largest of the items.
func (l List) ErrorBound() (most uint64) {
	for i := range l.Items {
		most = max(most, l.Items[i].Estimate-l.Items[i].Lower)
	}
	return most
}

// Other is what the items' lower bounds leave over of total, at least 0.
func (l List) Other(total uint64) uint64 {
	for i := range l.Items {
		total -= min(total, l.Items[i].Lower)
	}
	return total
}

// certify: an item is certain if no key outside the list can be larger, and its rank is if besides no earlier item can be smaller
// and no later one larger.
func (l *List) certify() {
	l.Certified = len(l.Items) == l.K || l.Theta == 0
	outside := l.Unlisted()
	before := uint64(math.MaxUint64) // the smallest Lower of earlier items
	for i := range l.Items {
		it := &l.Items[i]
		after := l.Next
		if i+1 < len(l.Items) {
			after = l.Items[i+1].Estimate
		}
		it.Certain = it.Lower >= outside
		it.RankCertain = before >= it.Estimate && it.Lower >= max(l.Theta, after)
		before = min(before, it.Lower)
		l.Certified = l.Certified && it.Certain
	}
}

// Bounds returns what is known of any key's weight: lower <= true <= upper.
func (s *Summary) Bounds(key string) (lower, upper uint64) {
	k := identify(key, s.shape.Seed)
	if i := s.residents.find(k); i >= 0 {
		return s.residents.hot[i].lo, s.residents.estimate(i)
	}
	return 0, s.least(k)
}
