// Package stream makes streams of keys whose exact counts are known, for tests and benchmarks.
package stream

import (
	"math"
	"math/rand/v2"
	"strconv"
)

// Stream is a sequence of events. The text of all keys lies back to back, as in freshly decoded records, so that reading
// them costs every engine the same.
type Stream struct {
	Name    string
	Keys    []string
	Weights []uint64 // nil: 1 each
	Exact   []uint64 // weight by ID
}

// Zipf draws events from keys IDs, ID i in proportion to (i+1)^-s.
func Zipf(name string, events, keys int, s float64, seed uint64) *Stream {
	sampler := NewSampler(keys, s, seed)
	ids := make([]uint32, events)
	for i := range ids {
		ids[i] = sampler.Next()
	}
	return fromIDs(name, ids, keys, nil)
}

// ZipfBytes is Zipf with weights as records have sizes: 64 bytes to 70 KB, most of them small.
func ZipfBytes(name string, events, keys int, s float64, seed uint64) *Stream {
	sampler := NewSampler(keys, s, seed)
	r := rand.New(rand.NewPCG(seed, 2))
	ids := make([]uint32, events)
	weights := make([]uint64, events)
	for i := range ids {
		u := r.Float64()
		ids[i], weights[i] = sampler.Next(), uint64(64*math.Exp(u*u*7))
	}
	return fromIDs(name, ids, keys, weights)
}

// Late is uniform but for 100 heavy keys, which come only after the first third and are 0.005 % to 0.1 % of all: IDs 0 to 99,
// the heaviest first. It is hostile to a table that has filled up by then.
func Late(name string, events, keys int, seed uint64) *Stream {
	r := rand.NewPCG(seed, 1)
	ids := make([]uint32, events)
	for i := range ids {
		ids[i] = 100 + uint32(r.Uint64()>>32*uint64(keys-100)>>32)
	}
	for heavy := range 100 {
		for range events / 5000 * (104 - heavy) / 20 {
			ids[events/3+int(r.Uint64()%uint64(events-events/3))] = uint32(heavy)
		}
	}
	return fromIDs(name, ids, keys, nil)
}

func fromIDs(name string, ids []uint32, keys int, weights []uint64) *Stream {
	st := &Stream{Name: name, Keys: make([]string, len(ids)), Weights: weights, Exact: make([]uint64, keys)}
	var text []byte
	ends := make([]int, len(ids))
	for i, id := range ids {
		text = AppendKey(text, id)
		ends[i] = len(text)
		if weights == nil {
			st.Exact[id]++
		} else {
			st.Exact[id] += weights[i]
		}
	}
	all, at := string(text), 0
	for i, end := range ends {
		st.Keys[i], at = all[at:end], end
	}
	return st
}

// AppendKey appends the key of an ID: eight hex digits and up to 32 letters.
func AppendKey(b []byte, id uint32) []byte {
	const hex = "0123456789abcdef"
	for shift := 28; shift >= 0; shift -= 4 {
		b = append(b, hex[id>>shift&15])
	}
	h := mix(uint64(id))
	for i, bits := 0, h; i < int(h%33); i++ {
		if i%8 == 0 {
			bits = mix(bits)
		}
		b = append(b, 'a'+byte(bits>>(8*(i%8))&15))
	}
	return b
}

// Key is AppendKey as a string.
func Key(id uint32) string { return string(AppendKey(nil, id)) }

// ID is the inverse of Key.
func ID(key string) uint32 {
	id, err := strconv.ParseUint(key[:8], 16, 32)
	if err != nil {
		panic(err)
	}
	return uint32(id)
}

func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
