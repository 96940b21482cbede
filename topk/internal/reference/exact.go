// Package reference holds what one would write first. Benchmarks compare with it, tests take exact counts from it.
package reference

import (
	"cmp"
	"container/heap"
	"slices"
)

// Exact counts every key in a map, and keeps the k largest in a heap.
type Exact struct {
	counts map[string]uint64
	in     map[string]*entry
	top    minHeap
	k      int
}

// NewExact keeps the k largest keys at hand.
func NewExact(k int) *Exact {
	return &Exact{counts: map[string]uint64{}, in: map[string]*entry{}, k: k}
}

// Add counts weight of key.
func (e *Exact) Add(key string, weight uint64) {
	n := e.counts[key] + weight
	e.counts[key] = n
	if len(e.top) == e.k && n <= e.top[0].count {
		return
	}
	if listed := e.in[key]; listed != nil {
		listed.count = n
		heap.Fix(&e.top, listed.place)
		return
	}
	listed := &entry{key: key, count: n}
	e.in[key] = listed
	if len(e.top) < e.k {
		heap.Push(&e.top, listed)
		return
	}
	delete(e.in, e.top[0].key)
	e.top[0] = listed // place 0
	heap.Fix(&e.top, 0)
}

// Count of a key.
func (e *Exact) Count(key string) uint64 { return e.counts[key] }

// Top is the k largest, largest first, ties in any order.
func (e *Exact) Top() []string { return e.top.keys() }

type entry struct {
	key   string
	count uint64
	place int // in the heap
}

// minHeap has the smallest on top.
type minHeap []*entry

func (h minHeap) Len() int           { return len(h) }
func (h minHeap) Less(i, j int) bool { return h[i].count < h[j].count }
func (h minHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *minHeap) Push(x any) {
	e := x.(*entry)
	e.place = len(*h)
	*h = append(*h, e)
}

func (h *minHeap) Pop() any {
	e := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return e
}

func (h minHeap) keys() []string {
	sorted := make([]entry, len(h))
	for i, e := range h {
		sorted[i] = *e
	}
	slices.SortFunc(sorted, func(a, b entry) int { return cmp.Compare(b.count, a.count) })
	keys := make([]string, len(sorted))
	for i, e := range sorted {
		keys[i] = e.key
	}
	return keys
}
