package recount

import (
	"fmt"
	"hash/maphash"

	"github.com/otel-topk/collector/internal/rule"
)

// tally adds up weights by list and key: a hash table in a budget of memory, which is written out as a sorted run and emptied when
// it is full.
type tally struct {
	budget int64
	lists  *lists
	asked  map[string]struct{} // only these keys are counted one by one; nil: all

	arena   arena
	slots   []uint64 // the high half of a hash, and 1 + the name of an entry; 0: free
	shift   int      // of a half hash, to its place in slots
	entries int
	items   []item // memory to sort them in, from the first time on: then as many entries are the most

	seed  maphash.Seed
	block block
	spill *spill
}

const (
	// maxTotal is the largest weight of a list, as in topk.
	maxTotal = 1 << 63

	minSlotBits = 10
	sortBytes   = 16 // of an entry, while it is sorted
)

// newTally counts into l. weighted: not all records weigh 1. many: there may be more than one list.
func newTally(budget int64, l *lists, weighted, many bool, s *spill) *tally {
	t := &tally{budget: budget, lists: l, seed: maphash.MakeSeed(), spill: s}
	t.arena.layout = newLayout(weighted, many)
	t.resize(minSlotBits)
	return t
}

// ask makes the tally count these keys alone; the first list has them also where they never come.
func (t *tally) ask(keys []string) error {
	t.asked = make(map[string]struct{}, len(keys))
	for _, key := range keys {
		t.asked[key] = struct{}{}
		e, err := t.entry(maphash.String(t.seed, key), 0, key)
		if err != nil {
			return err
		}
		t.arena.layout.add(e, 0, 0)
	}
	return nil
}

// add counts a batch into the first list, and into those of its groups where all lists are counted.
func (t *tally) add(b *rule.Batch) error {
	of := t.lists.of
	for i, key := range b.Keys {
		if of != nil && of.Scope != rule.ScopeGlobal && (b.Groups == nil || b.Groups[i] != *of) {
			continue
		}
		weight := uint64(1)
		if b.Weights != nil {
			weight = b.Weights[i]
		}
		if err := t.lists.add(0, weight); err != nil {
			return err
		}
		id := noList
		if of == nil && b.Groups != nil {
			if id = t.lists.id(b.Groups[i]); id == noList {
				return fmt.Errorf("group_by has more than %d groups, for which %d bytes (memory_limit) are too few", len(t.lists.all)-1, t.budget)
			}
			if err := t.lists.add(id, weight); err != nil {
				return err
			}
		}
		if t.asked != nil {
			if _, ok := t.asked[key]; !ok {
				continue
			}
		}
		h := maphash.String(t.seed, key)
		t.block.push(key, h, 0, weight)
		if id != noList {
			t.block.push(key, (h^uint64(id))*0x9e3779b97f4a7c15, id, weight)
		}
		if t.block.full() {
			if err := t.settle(); err != nil {
				return err
			}
		}
	}
	return t.settle() // the keys are the batch's
}

// settle adds what is in the block.
func (t *tally) settle() error {
	b := &t.block
	b.touch(t)
	for i, h := range b.hashes {
		e, err := t.entry(h, b.lists[i], b.keys[i])
		if err != nil {
			return err
		}
		t.arena.layout.add(e, b.weights[i], 1)
	}
	b.reset()
	return nil
}

// entry of a key in a list, made where there is none.
func (t *tally) entry(h uint64, list uint32, key string) ([]byte, error) {
	l := &t.arena.layout
	for {
		at := h >> 32 >> t.shift
		for t.slots[at] != 0 {
			if s := t.slots[at]; s>>32 == h>>32 {
				if e := t.arena.at(uint32(s) - 1); string(l.keyOf(e)) == key && l.listOf(e) == list {
					return e, nil
				}
			}
			at = (at + 1) & uint64(len(t.slots)-1)
		}
		fits, err := t.makeRoom(len(key))
		if err != nil {
			return nil, err
		}
		if fits { // else the places are others now
			ref := t.arena.put(list, key)
			t.slots[at] = h>>32<<32 | uint64(ref+1)
			t.entries++
			return t.arena.at(ref), nil
		}
	}
}

// makeRoom for an entry of a key of n bytes. fits is false where that moved the entries there are.
func (t *tally) makeRoom(n int) (fits bool, err error) {
	switch {
	case t.entries > 0 && t.entries == cap(t.items):
		return false, t.flush()
	case t.entries >= len(t.slots)/4*3:
		if t.used()+int64(len(t.slots))*2*8 > t.budget {
			return false, t.flush()
		}
		t.resize(32 - t.shift + 1)
		return false, nil
	case !t.arena.room(t.arena.layout.size(n)):
		if t.entries > 0 && t.used()+chunkBytes > t.budget || len(t.arena.chunks) == maxChunks {
			return false, t.flush()
		}
		t.arena.grow()
	}
	return true, nil
}

// used memory in bytes, with what it takes to sort the entries.
func (t *tally) used() int64 {
	return int64(len(t.slots))*8 + int64(len(t.arena.chunks))*chunkBytes + int64(t.entries)*sortBytes + t.lists.bytes
}

// resize makes 1<<bits slots. Entries keep their order there, since a place is the beginning of a hash.
func (t *tally) resize(bits int) {
	old := t.slots
	t.slots, t.shift = make([]uint64, 1<<bits), 32-bits
	for _, s := range old {
		if s == 0 {
			continue
		}
		at := s >> 32 >> t.shift
		for t.slots[at] != 0 {
			at = (at + 1) & uint64(len(t.slots)-1)
		}
		t.slots[at] = s
	}
}

// flush writes all entries to disk, sorted, and forgets them.
func (t *tally) flush() error {
	w, err := t.spill.writer()
	if err != nil {
		return err
	}
	for _, i := range t.sorted() {
		r := t.row(t.arena.at(i.ref))
		if err := w.append(&r); err != nil {
			return err
		}
	}
	written, err := w.close()
	if err != nil {
		return err
	}
	t.spill.runs = append(t.spill.runs, written)
	clear(t.slots)
	t.arena.reset()
	t.entries = 0
	return nil
}

func (t *tally) row(e []byte) row {
	l := &t.arena.layout
	return row{l.listOf(e), l.keyOf(e), l.weightOf(e), l.recordsOf(e)}
}
