package table

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
)

// Heavier orders the rows of a list as lists do: the heaviest first, then by key.
func Heavier(a, b Row) int {
	return cmp.Or(cmp.Compare(b.Weight, a.Weight), strings.Compare(a.Key, b.Key))
}

// Heaviest keeps the first rows of a list, Most at most. Keys without weight are none.
type Heaviest struct {
	Most int
	rows lightest
}

// lightest is a heap with the row on top that goes first.
type lightest []Row

func (h lightest) Len() int           { return len(h) }
func (h lightest) Less(i, j int) bool { return Heavier(h[i], h[j]) > 0 }
func (h lightest) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *lightest) Push(x any)        { *h = append(*h, x.(Row)) }
func (h *lightest) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// Takes says whether Add would keep a row of this weight and key.
func (h *Heaviest) Takes(weight uint64, key []byte) bool {
	switch {
	case weight == 0 || h.Most == 0:
		return false
	case len(h.rows) < h.Most:
		return true
	}
	last := &h.rows[0]
	return weight > last.Weight || weight == last.Weight && string(key) < last.Key
}

// Add a row. Each key comes once.
func (h *Heaviest) Add(row Row) {
	switch {
	case row.Weight == 0 || h.Most == 0:
	case len(h.rows) < h.Most:
		heap.Push(&h.rows, row)
	case Heavier(row, h.rows[0]) < 0:
		h.rows[0] = row
		heap.Fix(&h.rows, 0)
	}
}

// Rows that are kept, the heaviest first.
func (h *Heaviest) Rows() []Row {
	slices.SortFunc(h.rows, Heavier)
	return h.rows
}
