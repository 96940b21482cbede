package stream

import (
	"math"
	"testing"
)

func TestKeysTellTheirID(t *testing.T) {
	seen := map[string]bool{}
	for _, id := range []uint32{0, 1, 99, 1 << 20, math.MaxUint32} {
		key := Key(id)
		if ID(key) != id || len(key) < 8 || len(key) > 40 || seen[key] {
			t.Errorf("key of %d is %q", id, key)
		}
		seen[key] = true
	}
}

func TestStreamsAreCountedExactly(t *testing.T) {
	for _, st := range []*Stream{
		Zipf("zipf", 10_000, 1000, 1, 1), ZipfBytes("bytes", 10_000, 1000, 1, 1), Late("late", 10_000, 1000, 1),
	} {
		exact := make([]uint64, 1000)
		for i, key := range st.Keys {
			if st.Weights == nil {
				exact[ID(key)]++
			} else {
				exact[ID(key)] += st.Weights[i]
			}
		}
		for id, f := range exact {
			if st.Exact[id] != f {
				t.Fatalf("%s: %d counts %d, want %d", st.Name, id, st.Exact[id], f)
			}
		}
	}
}

func TestSamplerFollowsZipf(t *testing.T) {
	const n, keys = 1_000_000, 1000
	z := NewSampler(keys, 1, 1)
	var counts [keys]float64
	for range n {
		counts[z.Next()]++
	}
	harmonic := 0.0
	for i := range keys {
		harmonic += 1 / float64(i+1)
	}
	for _, i := range []int{0, 1, 9, 99} {
		want := n / harmonic / float64(i+1)
		if math.Abs(counts[i]-want) > 5*math.Sqrt(want) {
			t.Errorf("ID %d came %v times, want %.0f", i, counts[i], want)
		}
	}
}
