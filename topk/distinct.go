package topk

import (
	"math"
	"math/bits"
)

const (
	registerBits = 12
	registerN    = 1 << registerBits
	registerMax  = 64 - registerBits // an id is odd, so a rank is never larger
)

// registers of HyperLogLog (Flajolet et al. 2007): a standard error of 1.04/64 = 1.6 %. They are touched when a record
// stays in the tail and when a resident is flushed; residents are added when they are read: together that is every key.
type registers [registerN]uint8

func (r *registers) touch(id uint64) {
	i := id >> (64 - registerBits)
	rank := uint8(bits.LeadingZeros64(id<<registerBits)) + 1
	if rank > r[i] {
		r[i] = rank
	}
}

func (r *registers) merge(o *registers) {
	for i := range r {
		r[i] = max(r[i], o[i])
	}
}

// estimate is Ertl's (arXiv 1702.01284, algorithm 6), which needs no tables. Its correction for full registers is left out:
// it matters from 2^60 keys on.
func (r *registers) estimate() float64 {
	var ranks [256]float64
	for _, v := range r {
		ranks[v]++
	}
	var z float64
	for rank := registerMax; rank >= 1; rank-- {
		z = (z + ranks[rank]) / 2
	}
	z += registerN * sigma(ranks[0]/registerN)
	return registerN * registerN / (2 * math.Ln2 * z)
}

func sigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	y, z := 1.0, x
	for {
		x *= x
		old := z
		z += x * y
		y += y
		if z == old {
			return z
		}
	}
}

// Distinct is the number of keys with weight: exact while the summary is, then within a few per cent. After MergeBound it
// counts all keys of the covering summary too.
func (s *Summary) Distinct() (n uint64, exact bool) {
	if s.tail == nil {
		for i := range s.residents.slots {
			if s.residents.hot[i].lo > 0 {
				n++
			}
		}
		return n, true
	}
	all := s.seen()
	// Each key has weight, so there are no more than that; it also bounds what made-up registers can say.
	return uint64(min(math.Round(all.estimate()), float64(s.TotalUpper()))), false
}

// seen is the registers of all keys.
func (s *Summary) seen() registers {
	all := s.tail.seen
	for i := range s.residents.slots {
		if h := s.residents.hot[i]; h.lo > 0 {
			all.touch(h.id)
		}
	}
	return all
}
