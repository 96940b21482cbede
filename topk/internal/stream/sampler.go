package stream

import (
	"math"
	"math/rand/v2"
)

// Sampler draws IDs by Zipf's law in constant time, by Walker's alias method.
type Sampler struct {
	random *rand.Rand
	keep   []float64
	alias  []uint32
}

// NewSampler draws ID i of keys in proportion to (i+1)^-s. s = 0 is uniform.
func NewSampler(keys int, s float64, seed uint64) *Sampler {
	z := &Sampler{rand.New(rand.NewPCG(seed, 1)), make([]float64, keys), make([]uint32, keys)}
	sum := 0.0
	for i := range z.keep {
		z.keep[i] = math.Pow(float64(i+1), -s)
		sum += z.keep[i]
	}
	var small, large []uint32
	for i := range z.keep {
		z.keep[i] *= float64(keys) / sum
		if z.keep[i] < 1 {
			small = append(small, uint32(i))
		} else {
			large = append(large, uint32(i))
		}
	}
	for len(small) > 0 && len(large) > 0 {
		i, j := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		z.alias[i] = j
		if z.keep[j] -= 1 - z.keep[i]; z.keep[j] < 1 {
			large = large[:len(large)-1]
			small = append(small, j)
		}
	}
	for _, i := range append(small, large...) { // 1 but for rounding
		z.keep[i] = 1
	}
	return z
}

// Next draws an ID.
func (z *Sampler) Next() uint32 {
	i := z.random.Uint32N(uint32(len(z.keep)))
	if z.random.Float64() < z.keep[i] {
		return i
	}
	return z.alias[i]
}
