package topk

import "math/bits"

const (
	blockSize = 256 // keys that are hashed, then probed, then missed together; a place in a block fits a byte
	fewKeys   = 16  // for fewer a block takes longer than it saves
)

type block struct {
	place, id [blockSize]uint64
	missed    [blockSize]uint8
}

// AddBatch counts many keys; weights, if not nil, is as long as keys, else each weighs 1. All are counted or, with an error, none. In
// a block of keys the residents are counted first, so that batches cut otherwise may leave other, equally lawful bounds.
func (s *Summary) AddBatch(keys []string, weights []uint64) error {
	if err := s.countBatch(keys, weights); err != nil {
		return err
	}
	if len(keys) < fewKeys {
		for i, key := range keys {
			s.add(identify(key, s.shape.Seed), key, weight(weights, i))
		}
		return nil
	}
	var b block
	for len(keys) > 0 {
		n := min(blockSize, len(keys))
		var w []uint64
		if weights != nil {
			w, weights = weights[:n], weights[n:]
		}
		s.addBlock(&b, keys[:n], w)
		keys = keys[n:]
	}
	return nil
}

// countBatch adds to the totals, or says why the batch cannot be counted.
func (s *Summary) countBatch(keys []string, weights []uint64) error {
	lengths := 0
	for _, key := range keys {
		lengths |= len(key)
	}
	if lengths > MaxKeyBytes { // which is all ones
		return ErrKey
	}
	sum, wrapped := uint64(len(keys)), uint64(0)
	if weights != nil {
		sum = 0
		for _, w := range weights[:len(keys)] {
			var carry uint64
			sum, carry = bits.Add64(sum, w, 0)
			wrapped |= carry
		}
	}
	if wrapped != 0 || sum > MaxTotal-s.TotalUpper() || uint64(len(keys)) > MaxTotal-s.records {
		return ErrTotal
	}
	s.total += sum
	s.records += uint64(len(keys))
	return nil
}

// addBlock hashes all keys, then probes all without a branch that could be mispredicted, then passes on the misses. Where
// nearly all miss, that branch is predicted well, and one key after the other is faster.
func (s *Summary) addBlock(b *block, keys []string, weights []uint64) {
	for i, key := range keys[:min(blockSize, len(keys))] {
		k := identify(key, s.shape.Seed)
		b.place[i], b.id[i] = k.place, k.id
	}
	n := len(keys)
	if s.scattered {
		for i := range b.missed[:n] {
			b.missed[i] = uint8(i)
		}
	} else {
		n = s.probe(b, n, weights)
	}
	s.scattered = s.missBlock(b, n, keys, weights)*10 > len(keys)*8
}

func weight(weights []uint64, i int) uint64 {
	if weights == nil {
		return 1
	}
	return weights[i]
}

// probe adds the weight of every key it finds at first sight, and lists the others. Hit or miss is data flow, not control
// flow: a miss adds to the spare slot behind the table.
func (s *Summary) probe(b *block, n int, weights []uint64) (misses int) {
	tags, slots := s.residents.tags, s.residents.hot
	mask := uint64(len(tags) - 1)
	spare := uint64(len(slots) - 1)
	if weights != nil {
		weights = weights[:n]
	}
	for i := 0; i < n && i < blockSize; i++ {
		w := weight(weights, i)
		p := b.place[i]
		g := p >> 7 & mask
		// No tag equal: lane is 8, and the slot the first of the next group. That is a hit only if the key lies there.
		slot := g*lanes + lane(matches(tags[g], tagged(p)))
		d := slots[slot].id ^ b.id[i]
		miss := (d | -d) >> 63
		slot ^= (slot ^ spare) & -miss
		slots[slot].lo += w
		b.missed[misses&(blockSize-1)] = uint8(i)
		misses += int(miss)
	}
	return misses
}

// missBlock is add for the first n that b lists, which mostly are not resident, and says how many were not. The path of most
// is keep in line: a call would cost a nanosecond.
func (s *Summary) missBlock(b *block, n int, keys []string, weights []uint64) (misses int) {
	width := uint64(s.shape.Width)
	for _, i := range b.missed[:n] {
		k := identity{b.place[i], b.id[i]}
		w := weight(weights, int(i))
		c := s.fiveCells()
		tags := s.residents.tags[k.place>>7&uint64(len(s.residents.tags)-1)]
		// A full group or an equal tag: the first sight may have been wrong, or an earlier miss became a resident.
		if c == nil || w == 0 || tags&high == high || matches(tags, tagged(k.place)) != 0 {
			if !s.add(k, keys[i], w) {
				misses++
			}
			continue
		}
		misses++
		i0, i1, i2, i3, i4 := five(k, width)
		c0, c1, c2, c3, c4 := c[i0], c[i1], c[i2], c[i3], c[i4]
		base := uint64(min(c0, c1, c2, c3, c4))
		if base+w > s.theta {
			s.admit(k, keys[i], w, base)
			continue
		}
		e := uint32(base + w)
		c[i0], c[i1], c[i2], c[i3], c[i4] = max(c0, e), max(c1, e), max(c2, e), max(c3, e), max(c4, e)
		s.tail.seen.touch(k.id)
	}
	return misses
}
