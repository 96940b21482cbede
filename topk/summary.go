package topk

import (
	"errors"
	"fmt"
)

// Summary counts weight by key in fixed memory. It comes from New or UnmarshalBinary. It is not safe for concurrent use, but
// calls that do not change it (readers, and being merged into another) may run at the same time.
type Summary struct {
	shape    Shape
	capacity int

	total   uint64
	hidden  uint64 // total + hidden bounds what MergeBound covers; at most MaxTotal
	records uint64

	residents table
	theta     uint64
	tail      *tail // nil while all keys ever counted are residents
	spare     *tail // of before Reset

	scattered bool // the last block was nearly all misses
}

// New makes an empty summary of at most residents keys.
func New(residents int, shape Shape) (*Summary, error) {
	if err := errors.Join(validateCapacity(residents), shape.validate()); err != nil {
		return nil, fmt.Errorf("topk: %w", err)
	}
	return &Summary{shape: shape, capacity: residents, residents: newTable(0)}, nil
}

func validateCapacity(n int) error {
	if n < 1 || n > MaxResidents {
		return fmt.Errorf("residents is %d, allowed is 1 to %d", n, MaxResidents)
	}
	return nil
}

// Add counts weight of key. Weight 0 counts a record and no key.
func (s *Summary) Add(key string, weight uint64) error {
	if len(key) > MaxKeyBytes {
		return ErrKey
	}
	if weight > MaxTotal-s.TotalUpper() || s.records == MaxTotal {
		return ErrTotal
	}
	s.total += weight
	s.records++
	s.add(identify(key, s.shape.Seed), key, weight)
	return nil
}

// add says whether the key was resident.
func (s *Summary) add(k identity, key string, w uint64) bool {
	t := &s.residents
	mask := uint64(len(t.tags) - 1)
	tag := tagged(k.place)
	for g := k.place >> 7 & mask; ; g = (g + 1) & mask {
		tags := t.tags[g]
		for m := matches(tags, tag); m != 0; m &= m - 1 {
			if h := &t.hot[g*lanes+lane(m)]; h.id == k.id {
				h.lo += w
				return true
			}
		}
		if tags&high != high {
			break
		}
	}
	if base, kept := s.keep(k, w); !kept {
		s.admit(k, key, w, base)
	}
	return false
}

func (s *Summary) admit(k identity, key string, lo, base uint64) {
	if s.residents.size >= s.capacity {
		s.purge()
	}
	insert(&s.residents, k, key, lo, base)
}

// Total is the weight counted, exact.
func (s *Summary) Total() uint64 { return s.total }

// TotalUpper is Total and what MergeBound may hide.
func (s *Summary) TotalUpper() uint64 { return s.total + s.hidden }

// Records is the number of Adds, exact.
func (s *Summary) Records() uint64 { return s.records }

// Theta bounds every key that is not resident. 0: the summary is exact, it holds every key.
func (s *Summary) Theta() uint64 { return s.theta }

// Size is the number of residents, expected ones that have not come yet included.
func (s *Summary) Size() int { return s.residents.size }

// Capacity is the most residents there can be.
func (s *Summary) Capacity() int { return s.capacity }

// Shape is what New got.
func (s *Summary) Shape() Shape { return s.shape }

// Clone copies s.
func (s *Summary) Clone() *Summary {
	c := *s
	c.residents = s.residents.clone()
	c.tail, c.spare = s.tail.clone(), nil
	return &c
}

// Reset empties s and keeps its memory.
func (s *Summary) Reset() {
	s.residents.clear()
	if s.tail != nil {
		s.spare = s.tail
	}
	*s = Summary{shape: s.shape, capacity: s.capacity, residents: s.residents, spare: s.spare}
}
