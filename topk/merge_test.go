package topk

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func merge(tb testing.TB, into *Summary, parts ...*Summary) *Summary {
	tb.Helper()
	for _, p := range parts {
		if err := into.Merge(p); err != nil {
			tb.Fatal(err)
		}
	}
	return into
}

// M2: three shards list two keys each; the key that is first of all is third in each.
func TestFirstOfAllIsThirdInEachShard(t *testing.T) {
	shards := make([]*Summary, 3)
	for i := range shards {
		shards[i] = newSummary(t, 640, standard)
		for key, weight := range map[string]uint64{fmt.Sprint("a", i): 100, fmt.Sprint("b", i): 90, "winner": 80, fmt.Sprint("c", i): 10} {
			add(t, shards[i], key, weight)
		}
		for _, it := range shards[i].Top(2).Items {
			if it.Key == "winner" {
				t.Fatal("the winner is in a shard's list")
			}
		}
	}
	l := merge(t, newSummary(t, 4096, standard), shards...).Top(2)
	if l.Items[0] != (Item{"winner", 240, 240, true, true}) || l.Items[1].Key != "a0" || !l.Certified {
		t.Errorf("%+v", l)
	}
	// Where a shard may keep only two residents, the winner hides in the tails, and no list of two is certified without it.
	merged := newSummary(t, 4096, standard)
	for _, s := range shards {
		s.Prune(2)
		merge(t, merged, s)
	}
	if _, upper := merged.Bounds("winner"); upper < 240 || merged.Theta() < 240 {
		t.Errorf("the winner is at most %d, theta %d", upper, merged.Theta())
	}
	if l := merged.Top(2); l.Certified || l.Items[0].Certain {
		t.Errorf("certified without the winner: %+v", l)
	}
}

// M1: tables of elasticsearch issues 35987 (the shards of its documentation) and 134073, for which the error bound that was reported
// is smaller than the error. Each shard keeps as many keys as it returned there.
func TestBoundsOnTablesThatAnotherEngineGotWrong(t *testing.T) {
	for name, c := range map[string]struct {
		keep   int
		shards []map[string]uint64
	}{
		"35987": {5, []map[string]uint64{
			{"A": 25, "B": 18, "C": 6, "D": 3, "E": 2, "F": 2, "G": 2, "H": 2, "I": 1, "J": 1},
			{"A": 30, "B": 25, "F": 17, "Z": 16, "G": 15, "H": 14, "I": 10, "Q": 6, "J": 8, "C": 4},
			{"A": 45, "C": 44, "Z": 36, "G": 30, "E": 29, "H": 28, "Q": 2, "D": 1},
		}},
		"134073": {3, []map[string]uint64{
			{"A": 100, "B": 20, "C": 20, "X": 20, "Y": 20},
			{"A": 50, "X": 40, "D": 30, "Y": 30},
			{"A": 50, "Y": 40, "E": 30, "X": 30},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			truth := map[string]uint64{}
			full, cut := newSummary(t, 640, standard), newSummary(t, 640, standard)
			for _, shard := range c.shards {
				s := newSummary(t, 640, standard)
				for key, weight := range shard {
					add(t, s, key, weight)
					truth[key] += weight
				}
				merge(t, full, s)
				s.Prune(c.keep)
				merge(t, cut, s)
			}
			for key, f := range truth {
				if lower, upper := full.Bounds(key); lower != f || upper != f {
					t.Errorf("%s is %d to %d, true %d", key, lower, upper, f)
				}
				lower, upper := cut.Bounds(key)
				if lower > f || upper < f {
					t.Errorf("cut: %s is %d to %d, true %d", key, lower, upper, f)
				}
			}
			w := &world{t: t, checks: new(int), story: new([]string), s: cut, truth: truth}
			w.certificates(new(verdicts))
			w.s = full
			w.certificates(new(verdicts))
		})
	}
}

// M3
func TestMergeWithNothing(t *testing.T) {
	empty := func() *Summary { return newSummary(t, 640, standard) }
	if s := merge(t, empty(), empty()); encode(t, s) != encode(t, empty()) {
		t.Error("empty and empty is not empty")
	}
	exact, full := empty(), empty()
	add(t, exact, "a", 3)
	for i := range 5000 {
		add(t, full, fmt.Sprint(i), 1)
	}
	for name, s := range map[string]*Summary{"exact": exact, "full": full} {
		want := encode(t, s)
		if got := encode(t, merge(t, empty(), s)); got != want {
			t.Errorf("%s into empty differs", name)
		}
		if got := encode(t, merge(t, s.Clone(), empty())); got != want {
			t.Errorf("empty into %s differs", name)
		}
		c := s.Clone()
		if err := c.MergeBound(empty()); err != nil || encode(t, c) != want {
			t.Errorf("empty as a bound of %s changes it: %v", name, err)
		}
	}
	bound := empty()
	if err := bound.MergeBound(full); err != nil {
		t.Fatal(err)
	}
	if bound.Total() != 0 || bound.TotalUpper() != 5000 || bound.Theta() == 0 || len(bound.Top(10).Items) != 0 || bound.Top(10).Certified {
		t.Errorf("bound of nothing: total %d to %d, theta %d, %v", bound.Total(), bound.TotalUpper(), bound.Theta(), bound.Top(10))
	}
}

// M4
func TestMergeOfOtherShapesIsRefusedNamingBoth(t *testing.T) {
	s := newSummary(t, 4, standard)
	add(t, s, "a", 1)
	before := encode(t, s)
	for _, sh := range []Shape{{2720, 5, 0}, {2719, 4, 0}, {2719, 5, 1}} {
		o := newSummary(t, 4, sh)
		add(t, o, "b", 1)
		for what, err := range map[string]error{"Merge": s.Merge(o), "MergeBound": s.MergeBound(o)} {
			if !errors.Is(err, ErrShape) || !strings.Contains(err.Error(), sh.String()) || !strings.Contains(err.Error(), standard.String()) {
				t.Errorf("%s of %v: %v", what, sh, err)
			}
		}
	}
	if encode(t, s) != before {
		t.Error("what was refused changed the summary")
	}
}

// Merged at once or one after the other: the same counts, and no bound is wider.
func TestManyMergedAtOnceAreAsTightAsOneAfterTheOther(t *testing.T) {
	for _, residents := range []int{8, 640} {
		r := rand.New(rand.NewPCG(5, uint64(residents)))
		zipf := rand.NewZipf(r, 1.1, 1, 1e5)
		var parts []*Summary
		truth := map[string]uint64{}
		for range 3 * mostTogether {
			s := newSummary(t, 8+r.IntN(residents), standard)
			for range r.IntN(20_000) {
				key := fmt.Sprint(zipf.Uint64())
				add(t, s, key, 2)
				truth[key] += 2
			}
			parts = append(parts, s)
		}
		one := merge(t, newSummary(t, 1<<15, standard), parts...)
		many := newSummary(t, 1<<15, standard)
		if err := many.Merge(parts...); err != nil {
			t.Fatal(err)
		}
		if one.Total() != many.Total() || one.Records() != many.Records() || one.Theta() != many.Theta() || one.Size() != many.Size() {
			t.Fatalf("total %d and %d, theta %d and %d, %d and %d residents", one.Total(), many.Total(), one.Theta(), many.Theta(), one.Size(), many.Size())
		}
		for key, f := range truth {
			low, high := one.Bounds(key)
			lower, upper := many.Bounds(key)
			if lower != low || upper > high || lower > f || f > upper {
				t.Fatalf("%s, truly %d, is %d to %d, and one after the other %d to %d", key, f, lower, upper, low, high)
			}
		}
	}
}

// What cannot all be added is not added in part, and one may stand among the others more than once, itself too.
func TestManyAreMergedWholeOrNotAtAll(t *testing.T) {
	a, b, heavy := newSummary(t, 4, standard), newSummary(t, 4, standard), newSummary(t, 4, standard)
	add(t, a, "a", 1)
	add(t, b, "b", 2)
	add(t, heavy, "c", MaxTotal-2)
	before := encode(t, a)
	if err := a.Merge(b, heavy); !errors.Is(err, ErrTotal) || encode(t, a) != before {
		t.Errorf("beyond the limit: %v", err)
	}
	if err := a.Merge(b, newSummary(t, 4, Shape{2720, 5, 0})); !errors.Is(err, ErrShape) || encode(t, a) != before {
		t.Errorf("of another shape: %v", err)
	}
	for i := range 100 {
		add(t, a, fmt.Sprint(i), 1)
	}
	if err := a.Merge(b, a, b); err != nil {
		t.Fatal(err)
	}
	if lower, upper := a.Bounds("b"); a.Total() != 2*101+4 || lower > 4 || upper < 4 {
		t.Errorf("total %d, b is %d to %d", a.Total(), lower, upper)
	}
}

func TestMergeToACapacityKeepsTheFirst(t *testing.T) {
	s, o := newSummary(t, 10, standard), newSummary(t, 10, standard)
	for i := range 10 {
		add(t, s, fmt.Sprint("s", i), uint64(2*i+2))
		add(t, o, fmt.Sprint("o", i), uint64(2*i+1))
	}
	merge(t, s, o)
	if s.Size() != 10 || s.Theta() != 10 {
		t.Fatalf("size %d, theta %d", s.Size(), s.Theta())
	}
	for i, it := range s.Top(10).Items {
		if it.Estimate != uint64(20-i) || it.Lower != it.Estimate {
			t.Errorf("item %d is %v", i, it)
		}
	}
}
