package topk

import (
	"math"
	"strconv"
	"testing"
)

func TestDistinctIsExactThenWithinFivePerCent(t *testing.T) {
	s := newSummary(t, 640, standard)
	next, sum, n := 100, 0.0, 0
	for i := 1; i <= 1_000_000; i++ {
		key := strconv.Itoa(i)
		add(t, s, key, 1)
		add(t, s, key, 1) // again: no other key
		if i < next {
			continue
		}
		next += next / 4
		got, exact := s.Distinct()
		if exact != (i <= 640) || exact && got != uint64(i) {
			t.Fatalf("%d distinct, exact %v, true %d", got, exact, i)
		}
		off := float64(got)/float64(i) - 1
		if math.Abs(off) > 0.05 {
			t.Errorf("%d distinct, true %d", got, i)
		}
		sum, n = sum+off*off, n+1
	}
	t.Logf("%d readings, root mean square error %.1f %%", n, 100*math.Sqrt(sum/float64(n)))
}

func TestDistinctOfSummariesThatShareKeys(t *testing.T) {
	a, b := newSummary(t, 640, standard), newSummary(t, 640, standard)
	for i := range 10_000 {
		add(t, a, strconv.Itoa(i), 1)
		add(t, b, strconv.Itoa(i+5000), 1)
	}
	if n, exact := merge(t, a, b).Distinct(); exact || n < 14_250 || n > 15_750 {
		t.Errorf("%d distinct, true 15000", n)
	}
}

// Registers that nobody could have counted still give a number, and no more than there is weight.
func TestDistinctOfMadeUpRegistersIsBounded(t *testing.T) {
	s := newSummary(t, 1, small)
	add(t, s, "a", 1)
	add(t, s, "b", 1)
	for i := range s.tail.seen {
		s.tail.seen[i] = registerMax
	}
	if n, _ := s.Distinct(); n != 2 {
		t.Errorf("%d distinct of a total of 2", n)
	}
}
