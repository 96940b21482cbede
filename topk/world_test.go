package topk

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"testing"
)

// world is a summary and the truth beside it.
type world struct {
	t       testing.TB
	checks  *int // counts every inequality that was looked at
	story   *[]string
	s       *Summary
	truth   map[string]uint64 // weight by key, with what lies hidden in summaries that MergeBound added
	counted map[string]bool   // keys that Distinct counts
	total   uint64
	hidden  uint64
	records uint64
}

func (w *world) require(holds bool, format string, args ...any) {
	*w.checks++
	if !holds {
		w.t.Helper()
		w.t.Fatalf("after %q: "+format, append([]any{*w.story}, args...)...)
	}
}

func (w *world) upper() uint64 { return w.total + w.hidden }

func (w *world) count(key string, weight uint64) {
	w.truth[key] += weight
	w.total += weight
	w.records++
	if weight > 0 {
		w.counted[key] = true
	}
}

// law checks the bounds of every key, and what holds of every summary.
func (w *world) law() {
	w.t.Helper()
	s := w.s
	w.require(s.Total() == w.total && s.Records() == w.records && s.TotalUpper() == w.upper(),
		"total %d, records %d, upper %d; true %d, %d, %d", s.Total(), s.Records(), s.TotalUpper(), w.total, w.records, w.upper())
	for key, f := range w.truth {
		k := identify(key, s.shape.Seed)
		if i := s.residents.find(k); i >= 0 {
			w.require(string(s.residents.key(i)) == key, "slot of %q holds %q", key, s.residents.key(i))
			w.require(s.residents.hot[i].lo <= f, "resident %q: lower %d, true %d", key, s.residents.hot[i].lo, f)
			w.require(f <= s.residents.estimate(i), "resident %q: estimate %d, true %d", key, s.residents.estimate(i), f)
		} else {
			w.require(f <= s.least(k), "%q: least cell %d, true %d", key, s.least(k), f)
			w.require(s.least(k) <= s.theta, "%q: least cell %d, theta %d", key, s.least(k), s.theta)
		}
	}
	if err := invariants(s, w.checks); err != "" {
		w.require(false, "%s", err)
	}
	if s.tail == nil {
		n, exact := s.Distinct()
		w.require(exact && n == uint64(len(w.counted)), "%d distinct, exact %v, true %d", n, exact, len(w.counted))
		return
	}
	var all registers
	for key := range w.counted {
		all.touch(identify(key, s.shape.Seed).id)
	}
	w.require(all == s.seen(), "the registers are not those of the %d keys", len(w.counted))
}

// invariants says which bound s breaks that no summary may break, or "".
func invariants(s *Summary, checks *int) string {
	holds := func(ok bool) bool { *checks++; return !ok }
	var known uint64
	size, pinned := 0, 0
	keys := map[string]bool{}
	for i := range s.residents.slots {
		h, c := s.residents.hot[i], s.residents.cold[i]
		if holds(h.lo <= s.total-known) {
			return "lowers pass the total"
		}
		known += h.lo
		if holds(c.base <= s.TotalUpper()-h.lo) {
			return "an estimate passes the total"
		}
		if holds(h.lo+c.base > 0 || c.pinned) {
			return "a resident without weight is not pinned"
		}
		if holds(c.base == 0 || s.tail != nil) {
			return "a base without a tail"
		}
		size++
		if c.pinned {
			pinned++
		}
		keys[string(s.residents.key(i))] = true
	}
	if holds(size == s.Size() && size == len(keys) && size <= s.capacity && s.capacity <= MaxResidents) {
		return "size"
	}
	if holds(pinned == s.residents.pinned && pinned <= s.capacity/maxPinned) {
		return "pinned"
	}
	if holds(s.TotalUpper() <= MaxTotal && s.records <= MaxTotal && s.theta <= s.TotalUpper()) {
		return "totals"
	}
	if s.tail == nil {
		if holds(s.theta == 0 && s.hidden == 0 && known == s.total) {
			return "not exact without a tail"
		}
		return ""
	}
	if holds((s.tail.narrow == nil) != (s.tail.wide == nil) && len(s.tail.narrow)+len(s.tail.wide) == s.shape.cells()) {
		return "number of cells"
	}
	for _, c := range s.tail.narrow {
		if holds(uint64(c) <= s.theta) {
			return "a cell passes theta"
		}
	}
	for _, c := range s.tail.wide {
		if holds(c <= s.theta) {
			return "a cell passes theta"
		}
	}
	if holds(slices.Max(s.tail.seen[:]) <= registerMax) {
		return "a register passes its maximum"
	}
	return ""
}

// ordered is every resident with weight in the one order, the slow way.
func ordered(s *Summary) []Item {
	var items []Item
	for i := range s.residents.slots {
		if e := s.residents.estimate(i); e > 0 {
			items = append(items, Item{Key: string(s.residents.key(i)), Estimate: e, Lower: s.residents.hot[i].lo})
		}
	}
	slices.SortFunc(items, func(a, b Item) int {
		return cmp.Or(cmp.Compare(b.Estimate, a.Estimate), cmp.Compare(a.Key, b.Key))
	})
	return items
}

// list checks Top(k), and First of it.
func (w *world) list(k int) List {
	w.t.Helper()
	l, want := w.s.Top(k), ordered(w.s)
	w.require(l.K == k && l.Theta == w.s.theta, "list of %d says k %d, theta %d", k, l.K, l.Theta)
	var next uint64
	if k < len(want) {
		next, want = want[k].Estimate, want[:k]
	}
	w.require(len(l.Items) == len(want) && l.Next == next, "list of %d: %d items, next %d", k, len(l.Items), l.Next)
	for i, it := range l.Items {
		w.require(it.Key == want[i].Key && it.Estimate == want[i].Estimate && it.Lower == want[i].Lower, "item %d of %d is %v, want %v", i, k, it, want[i])
	}
	if k > 0 {
		short := k / 2
		a, b := l.First(short), w.s.Top(short)
		w.require(a.K == b.K && a.Next == b.Next && a.Certified == b.Certified && slices.Equal(a.Items, b.Items), "First(%d) of %d differs from Top", short, k)
	}
	return l
}

// bytes are the same for the same state.
func (w *world) bytes() []byte {
	w.t.Helper()
	b, err := w.s.MarshalBinary()
	w.require(err == nil, "marshal: %v", err)
	return b
}

func (w *world) unchanged(before []byte, what string) {
	w.t.Helper()
	w.require(bytes.Equal(before, w.bytes()), "%s changed the summary", what)
}

func (w *world) clone() *world {
	c := *w
	c.s, c.truth, c.counted = w.s.Clone(), maps.Clone(w.truth), maps.Clone(w.counted)
	return &c
}
