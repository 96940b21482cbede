package topk

import (
	"fmt"
	"sync"
	"testing"
)

// Calls that do not change a summary may run at the same time; the race detector watches.
func TestReadersMayRunAtTheSameTime(t *testing.T) {
	s := newSummary(t, 640, standard)
	for i := range 5000 {
		add(t, s, fmt.Sprint(i%2000), 1)
	}
	want := encode(t, s)
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 20 {
				s.Top(100)
				s.Bounds("7")
				s.Distinct()
				for range s.Keys() {
				}
				into := s.Clone()
				for what, err := range map[string]error{"Merge": into.Merge(s), "MergeBound": into.MergeBound(s)} {
					if err != nil {
						t.Errorf("%s: %v", what, err)
					}
				}
				if got, err := s.MarshalBinary(); err != nil || string(got) != want {
					t.Errorf("the encoding changed: %v", err)
				}
			}
		})
	}
	readers.Wait()
}
