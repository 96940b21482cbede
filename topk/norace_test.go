//go:build !race

package topk

import "testing"

const raceEnabled = false

// Not with -race, which makes sync.Pool forget.
func TestCountingAllocatesNothing(t *testing.T) {
	for _, draw := range streams {
		st := draw(400_000)
		s := newSummary(t, 640, standard)
		countBatches(t, s, st)
		if n := testing.AllocsPerRun(3, func() { countBatches(t, s, st) }); n > 0 {
			t.Errorf("%s: AddBatch: %v allocations for %d events", st.Name, n, len(st.Keys))
		}
		if n := testing.AllocsPerRun(3, func() {
			for i, key := range st.Keys {
				if err := s.Add(key, weight(st.Weights, i)); err != nil {
					t.Fatal(err)
				}
			}
		}); n > 0 {
			t.Errorf("%s: Add: %v allocations for %d events", st.Name, n, len(st.Keys))
		}
	}
}
