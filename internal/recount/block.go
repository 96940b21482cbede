package recount

// block are keys that are looked up together: the places of all are read before any is used, so that the waits for memory overlap.
type block struct {
	keys    []string
	hashes  []uint64 // of key and list
	lists   []uint32
	weights []uint64
	slots   []uint64
	touched byte // keeps the reading from being left out
}

const blockKeys = 256

func (b *block) full() bool { return len(b.keys) >= blockKeys }

func (b *block) push(key string, hash uint64, list uint32, weight uint64) {
	b.keys = append(b.keys, key)
	b.hashes = append(b.hashes, hash)
	b.lists = append(b.lists, list)
	b.weights = append(b.weights, weight)
}

func (b *block) reset() {
	b.keys, b.hashes, b.lists, b.weights, b.slots = b.keys[:0], b.hashes[:0], b.lists[:0], b.weights[:0], b.slots[:0]
}

// touch reads what the entries of the block most likely are.
func (b *block) touch(t *tally) {
	for _, h := range b.hashes {
		b.slots = append(b.slots, t.slots[h>>32>>t.shift])
	}
	for _, s := range b.slots {
		if s != 0 {
			b.touched += t.arena.at(uint32(s) - 1)[0]
		}
	}
}
