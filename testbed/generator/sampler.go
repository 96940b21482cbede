package generator

import (
	"errors"
	"math"
	"math/rand/v2"
)

// sampler draws ranks 0..n-1 with given weights in constant time (Vose's alias method).
type sampler struct {
	keep  []float32 // chance to stay at the rank that was drawn first
	other []uint32  // taken otherwise
}

// newZipf draws rank r with weight (r+1)^-exponent; exponent 0 is uniform.
func newZipf(n int, exponent float64) (*sampler, error) {
	if n < 1 || n > math.MaxInt32 {
		return nil, errors.New("generator: keys must be from 1 to 2147483647")
	}
	if !(exponent >= 0) || math.IsInf(exponent, 0) {
		return nil, errors.New("generator: zipf exponent must be a number >= 0")
	}
	weights, sum := make([]float64, n), 0.0
	for r := range weights {
		weights[r] = math.Pow(float64(r+1), -exponent)
		sum += weights[r]
	}
	for r := range weights {
		weights[r] *= float64(n) / sum // mean 1
	}
	return newAlias(weights), nil
}

// newAlias takes weights of mean 1 and uses them up.
func newAlias(weights []float64) *sampler {
	s := &sampler{keep: make([]float32, len(weights)), other: make([]uint32, len(weights))}
	var light, heavy []uint32
	for r, w := range weights {
		if w < 1 {
			light = append(light, uint32(r))
		} else {
			heavy = append(heavy, uint32(r))
		}
	}
	for len(light) > 0 && len(heavy) > 0 {
		l, h := light[len(light)-1], heavy[len(heavy)-1]
		light = light[:len(light)-1]
		s.keep[l], s.other[l] = float32(weights[l]), h
		weights[h] -= 1 - weights[l]
		if weights[h] < 1 {
			heavy = heavy[:len(heavy)-1]
			light = append(light, h)
		}
	}
	for _, r := range append(light, heavy...) { // what rounding left over
		s.keep[r], s.other[r] = 1, r
	}
	return s
}

func (s *sampler) draw(rng *rand.Rand) int {
	r := rng.Uint32N(uint32(len(s.keep)))
	if rng.Float32() < s.keep[r] {
		return int(r)
	}
	return int(s.other[r])
}
