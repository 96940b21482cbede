package topk

import (
	"math/bits"
	"slices"
)

// table holds the residents: groups of eight slots, and for each group a word of eight tags (0: empty, else 0x80 and seven
// bits of place). A key lies in the first group with room from its home on; so a group with an empty slot ends a search. At most
// five slots of eight are full.
type table struct {
	tags   []uint64
	hot    []hot  // what a hit touches; one more than slots: misses of a block add there
	cold   []cold // what a miss and a reader need
	keys   []byte // all keys, in the order they came
	size   int
	pinned int // of size
}

type hot struct {
	id uint64
	lo uint64 // counted since the key became a resident
}

type cold struct {
	place  uint64
	base   uint64 // bounds what came before
	at     uint32 // of the key in keys
	len    uint16
	pinned bool // expected: a purge passes it by
}

const (
	lanes = 8 // slots of a group
	low   = 0x0101010101010101
	high  = 0x8080808080808080
)

// tagged is the tag of place in every lane.
func tagged(place uint64) uint64 { return (place&0x7f | 0x80) * low }

// matches marks the lanes of tags that are equal to tag; of several marks only the lowest is sure.
func matches(tags, tag uint64) uint64 {
	x := tags ^ tag
	return (x - low) &^ x & high
}

func lane(marks uint64) uint64 { return uint64(bits.TrailingZeros64(marks) >> 3) }

// room is the most residents in a table of so many groups.
func room(groups int) int { return groups * lanes * 5 / 8 }

func groupsFor(residents int) int {
	groups := 2
	for residents > room(groups) {
		groups *= 2
	}
	return groups
}

func newTable(residents int) (t table) {
	t.resize(residents)
	return t
}

// resize empties the table and gives it room for this many residents, the least there can be.
func (t *table) resize(residents int) {
	groups := groupsFor(residents)
	t.tags, t.hot, t.cold = resized(t.tags, groups), resized(t.hot, groups*lanes+1), resized(t.cold, groups*lanes)
	t.clear()
}

// reserve makes room for this many residents in all.
func (t *table) reserve(residents int) {
	if residents <= room(len(t.tags)) {
		return
	}
	wide := newTable(residents)
	for i := range t.slots {
		wide.put(t.hot[i], t.cold[i])
	}
	wide.keys, wide.size, wide.pinned = t.keys, t.size, t.pinned
	*t = wide
}

// insert makes a resident of a key that is none, and returns its slot.
func insert[K string | []byte](t *table, k identity, key K, lo, base uint64) int {
	t.reserve(t.size + 1)
	at := uint32(len(t.keys)) // fits: Merge holds at most 2 * MaxResidents keys
	t.keys = append(t.keys, key...)
	t.size++
	return t.put(hot{k.id, lo}, cold{place: k.place, base: base, at: at, len: uint16(len(key))})
}

func (t *table) put(h hot, c cold) int {
	mask := uint64(len(t.tags) - 1)
	for g := c.place >> 7 & mask; ; g = (g + 1) & mask {
		tags := t.tags[g]
		if empty := ^tags & high; empty != 0 {
			l := lane(empty)
			i := g*lanes + l
			t.tags[g] = tags | (c.place&0x7f|0x80)<<(8*l)
			t.hot[i], t.cold[i] = h, c
			return int(i)
		}
	}
}

// find returns the slot of a resident, or -1.
func (t *table) find(k identity) int {
	mask := uint64(len(t.tags) - 1)
	for g := k.place >> 7 & mask; ; g = (g + 1) & mask {
		tags := t.tags[g]
		for m := matches(tags, tagged(k.place)); m != 0; m &= m - 1 {
			if i := g*lanes + lane(m); t.hot[i].id == k.id && t.cold[i].place == k.place {
				return int(i)
			}
		}
		if tags&high != high {
			return -1
		}
	}
}

// slots yields every resident, in the order of the table.
func (t *table) slots(yield func(int) bool) {
	for g, tags := range t.tags {
		for m := tags & high; m != 0; m &= m - 1 {
			if !yield(g*lanes + int(lane(m))) {
				return
			}
		}
	}
}

func (t *table) identity(i int) identity { return identity{t.cold[i].place, t.hot[i].id} }
func (t *table) estimate(i int) uint64   { return t.hot[i].lo + t.cold[i].base }

// key of a slot, valid until the next insert or purge.
func (t *table) key(i int) []byte {
	c := &t.cold[i]
	return t.keys[c.at : c.at+uint32(c.len)]
}

func (t *table) pin(i int) {
	t.cold[i].pinned = true
	t.pinned++
}

// empty a slot; a stale identity must match nothing.
func (t *table) empty(i int) {
	t.tags[i/lanes] &^= 0xff << (8 * (i % lanes))
	t.hot[i] = hot{}
}

// clear empties the table.
func (t *table) clear() {
	clear(t.tags)
	clear(t.hot)
	t.keys, t.size, t.pinned = t.keys[:0], 0, 0
}

func (t *table) clone() table {
	c := *t
	c.tags, c.hot, c.cold, c.keys = slices.Clone(t.tags), slices.Clone(t.hot), slices.Clone(t.cold), slices.Clone(t.keys)
	return c
}
