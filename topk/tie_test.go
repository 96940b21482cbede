package topk

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// A purge flushes exactly the last half in the one order, whatever ties, and theta rises to the largest that goes.
// Expected keys stay and do not count.
func TestPurgeFlushesExactlyTheLastHalf(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		capacity := 16 + r.IntN(200)
		s := newSummary(t, capacity, Shape{Width: 64, Depth: 5, Seed: seed})
		expected := 0
		if seed%2 == 0 {
			prev := newSummary(t, 4, small)
			for i := range 5 {
				add(t, prev, fmt.Sprint("expected ", i), 1)
			}
			s.Expect(prev, 4)
			expected = s.Size()
		}
		most := 1 + r.Uint64N(1+seed%20)
		for s.Size() < capacity {
			add(t, s, fmt.Sprintf("%s%d", []string{"", "a long common prefix "}[r.IntN(2)], r.IntN(1e6)), 1+r.Uint64N(most))
		}
		want := ordered(s)
		add(t, s, "\xffnewcomer", 1)
		got := ordered(s)
		got = slices.DeleteFunc(got, func(it Item) bool { return it.Key == "\xffnewcomer" })
		half := (capacity - expected) / 2
		if kept := want[:half]; !slices.Equal(got, kept) || s.Size() != half+expected+1 {
			t.Fatalf("seed %d: kept %v\nwant %v", seed, got, kept)
		}
		if largest := want[half].Estimate; s.Theta() != largest {
			t.Fatalf("seed %d: theta %d, want %d", seed, s.Theta(), largest)
		}
	}
}

// All counts are equal: the order is by key alone, and stays so however often the table is pruned.
func TestPruneOfTiesKeepsTheFirstKeys(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := newSummary(t, 1000, Shape{Width: 64, Depth: 5, Seed: seed})
		var keys []string
		for i := range 1000 {
			key := fmt.Sprintf("%s%d", []string{"", "a long common prefix "}[i&1], r.IntN(1e9))
			if _, upper := s.Bounds(key); upper == 0 {
				keys = append(keys, key)
				add(t, s, key, 7)
			}
		}
		slices.Sort(keys)
		for n := s.Size(); n > 0; n -= 1 + r.IntN(200) {
			s.Prune(n)
			l := s.Top(n)
			if len(l.Items) != n || s.Size() != n {
				t.Fatalf("seed %d: Prune(%d) kept %d", seed, n, s.Size())
			}
			for i, it := range l.Items {
				if it.Key != keys[i] || it.Estimate != 7 {
					t.Fatalf("seed %d: Prune(%d) has %q at %d, want %q", seed, n, it.Key, i, keys[i])
				}
			}
		}
	}
}

func TestSixHundredAndFortyEqualKeysAndANewcomer(t *testing.T) {
	s := newSummary(t, 640, standard)
	for i := range 640 {
		add(t, s, fmt.Sprintf("key %03d", i), 1)
	}
	if l := s.Top(640); !l.Certified || l.Theta != 0 {
		t.Fatalf("certified %v, theta %d while all fit", l.Certified, l.Theta)
	}
	add(t, s, "newcomer", 1)
	if s.Size() != 321 || s.Theta() != 1 {
		t.Fatalf("size %d, theta %d", s.Size(), s.Theta())
	}
	l := s.Top(100)
	for i, it := range l.Items {
		if it.Key != fmt.Sprintf("key %03d", i) || it.Estimate != 1 || it.Lower != 1 || !it.Certain {
			t.Errorf("item %d is %v", i, it)
		}
	}
	if !l.Certified { // any hundred keys of one event are a right answer
		t.Error("not certified")
	}
	if l := s.Top(640); l.Certified || len(l.Items) != 321 {
		t.Errorf("a list of %d of 640 is certified", len(l.Items))
	}
	add(t, s, "newcomer", 1)
	if l := s.Top(1); l.Items[0] != (Item{"newcomer", 2, 2, true, true}) || !l.Certified {
		t.Errorf("%v", l)
	}
}

func TestFiveThousandKeysOfOneEventEach(t *testing.T) {
	keys := make([]string, 5000)
	for i := range keys {
		keys[i] = fmt.Sprintf("key %04d", i)
	}
	for name, count := range map[string]func(s *Summary){
		"AddBatch": func(s *Summary) {
			if err := s.AddBatch(keys, nil); err != nil {
				t.Fatal(err)
			}
		},
		"Add": func(s *Summary) {
			for _, key := range keys {
				add(t, s, key, 1)
			}
		},
	} {
		s := newSummary(t, 640, standard)
		count(s)
		if n, exact := s.Distinct(); exact || n < 4750 || n > 5250 {
			t.Errorf("%s: %d distinct, exact %v", name, n, exact)
		}
		for _, key := range keys {
			if lower, upper := s.Bounds(key); lower > 1 || upper < 1 {
				t.Errorf("%s: %s is %d to %d", name, key, lower, upper)
			}
		}
		for _, it := range s.Top(10).Items {
			if it.Lower > 1 || it.Certain && it.Lower < s.Theta() {
				t.Errorf("%s: %v", name, it)
			}
		}
	}
}

func TestOrderIsByEstimateThenKeyBytes(t *testing.T) {
	s := newSummary(t, 16, small)
	want := []string{"z", "", "\x00", "\x00\x00\x00\x00\x00\x00\x00\x00", "12345678", "12345678\x00", "123456789", "1234567\xff", "a", "ab", "é", "\xff"}
	add(t, s, want[0], 2)
	for i := len(want) - 1; i > 0; i-- {
		add(t, s, want[i], 1)
	}
	for i, it := range s.Top(len(want)).Items {
		if it.Key != want[i] {
			t.Errorf("%q at %d, want %q", it.Key, i, want[i])
		}
	}
}

// Whoever knows the seed could arrange a table so that each round of the selection splits off one: a sort then ends it.
func TestSelectionOfAnArrangedTable(t *testing.T) {
	const n = 1 << 11
	order := make([]ranked, n)
	arrange(order)
	from, to := selectNth(order, n-1)
	if from != n-1 || to != n || order[n-1].digit != n-1 {
		t.Errorf("selected %d, %d to %d", order[n-1].digit, from, to)
	}
}

// arrange makes each middle of what is left the smallest, so that a pivot in the middle splits off one. It follows the
// swaps of the partition.
func arrange(order []ranked) {
	places := make([]int, len(order))
	for i := range places {
		places[i] = i
	}
	for next := range order {
		pivot := places[len(places)/2]
		order[pivot].digit = uint64(next)
		for i, more := 0, len(places); i < more; {
			if places[i] == pivot {
				places[0], places[i] = places[i], places[0]
				i++
			} else {
				more--
				places[i], places[more] = places[more], places[i]
			}
		}
		places = places[1:]
	}
}
