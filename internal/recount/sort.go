package recount

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// item is an entry that is being sorted: 8 bytes of its key, and its name.
type item struct {
	word uint64
	ref  uint32
}

// sorted are the names of all entries by list, in order, and key.
func (t *tally) sorted() []item {
	l := &t.arena.layout
	_, place := t.lists.order()
	next := make([]int, len(place)+1) // where the next entry of a place goes
	for _, e := range t.arena.all {
		next[place[l.listOf(e)]+1]++
	}
	for i := 1; i < len(next); i++ {
		next[i] += next[i-1]
	}
	from := slices.Clone(next)
	if cap(t.items) < t.entries {
		t.items = make([]item, t.entries)
	}
	items := t.items[:t.entries]
	for ref, e := range t.arena.all {
		at := &next[place[l.listOf(e)]]
		items[*at].ref = ref
		*at++
	}
	for i := range place {
		t.sortKeys(items[from[i]:from[i+1]], 0)
	}
	return items
}

// sortKeys sorts entries of one list, whose keys agree in their first depth bytes.
func (t *tally) sortKeys(items []item, depth int) {
	if len(items) < 2 {
		return
	}
	for i := range items {
		items[i].word = wordAt(t.keyOf(items[i]), depth)
	}
	slices.SortFunc(items, func(a, b item) int { return cmp.Compare(a.word, b.word) })
	depth += 8
	for from := 0; from < len(items); {
		to := from + 1
		for to < len(items) && items[to].word == items[from].word {
			to++
		}
		if to-from > 1 {
			t.sortKeys(t.endedFirst(items[from:to], depth), depth)
		}
		from = to
	}
}

// endedFirst puts those of items whose keys have ended before depth to the front, in order, and returns the others. The keys are
// equal but for zeros that fill them up, so the shorter one comes first.
func (t *tally) endedFirst(items []item, depth int) []item {
	n := 0
	for i := range items {
		if len(t.keyOf(items[i])) <= depth {
			items[n], items[i] = items[i], items[n]
			n++
		}
	}
	slices.SortFunc(items[:n], func(a, b item) int { return cmp.Compare(len(t.keyOf(a)), len(t.keyOf(b))) })
	return items[n:]
}

func (t *tally) keyOf(i item) []byte { return t.arena.layout.keyOf(t.arena.at(i.ref)) }

// wordAt is the 8 bytes of key from depth on, filled up with zeros.
func wordAt(key []byte, depth int) uint64 {
	if len(key) >= depth+8 {
		return binary.BigEndian.Uint64(key[depth:])
	}
	var w [8]byte
	copy(w[:], key[min(depth, len(key)):])
	return binary.BigEndian.Uint64(w[:])
}
