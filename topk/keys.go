package topk

import "iter"

// Keys yields the key of every resident, in no order. The bytes are valid until the next one is asked for and must not be changed.
func (s *Summary) Keys() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i := range s.residents.slots {
			if !yield(s.residents.key(i)) {
				return
			}
		}
	}
}

// KeyBytes is how long the keys of all residents are together.
func (s *Summary) KeyBytes() int { return len(s.residents.keys) }
