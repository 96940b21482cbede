package reference

import (
	"container/heap"
	"hash/maphash"
	"math"
)

// Textbook is a Count-Min sketch with a hash of the key for each of five rows, and a heap of k keys searched from end to end.
type Textbook struct {
	rows  [5][]uint64
	seeds [5]maphash.Seed
	top   minHeap
	k     int
}

// NewTextbook has rows of width cells and keeps the k largest keys.
func NewTextbook(width, k int) *Textbook {
	t := &Textbook{k: k}
	for i := range t.rows {
		t.rows[i], t.seeds[i] = make([]uint64, width), maphash.MakeSeed()
	}
	return t
}

// Add counts weight of key.
func (t *Textbook) Add(key string, weight uint64) {
	count := uint64(math.MaxUint64)
	for i, row := range t.rows {
		cell := &row[maphash.String(t.seeds[i], key)%uint64(len(row))]
		*cell += weight
		count = min(count, *cell)
	}
	for i, e := range t.top {
		if e.key == key {
			e.count = count
			heap.Fix(&t.top, i)
			return
		}
	}
	if len(t.top) < t.k {
		heap.Push(&t.top, &entry{key: key, count: count})
	} else if count > t.top[0].count {
		t.top[0] = &entry{key: key, count: count}
		heap.Fix(&t.top, 0)
	}
}

// Top is the k largest, largest first, ties in any order.
func (t *Textbook) Top() []string { return t.top.keys() }
