package topk

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/otel-topk/collector/topk/internal/stream"
)

// An hour of Zipf 1.0 in minutes that expect what led the minute before: the list of 100 is certified, and right. Without
// expecting, the bounds are many times wider.
func TestHourOfExpectedMinutesIsCertifiedAt100(t *testing.T) {
	const perMinute, keys = 69_444, 10_000_000
	minutes := 60
	if testing.Short() || raceEnabled {
		minutes = 20
	}
	sampler := stream.NewSampler(keys, 1, 11)
	exact := make([]uint64, keys)
	expecting, plain := newSummary(t, 4096, standard), newSummary(t, 4096, standard)
	last := newSummary(t, 640, standard)
	batch := make([]string, perMinute)
	for range minutes {
		for i := range batch {
			id := sampler.Next()
			exact[id]++
			batch[i] = stream.Key(id)
		}
		a, b := newSummary(t, 640, standard), newSummary(t, 640, standard)
		a.Expect(last, 128)
		for _, s := range []*Summary{a, b} {
			if err := s.AddBatch(batch, nil); err != nil {
				t.Fatal(err)
			}
		}
		a.Unpin()
		last = a
		merge(t, expecting, a)
		merge(t, plain, b)
	}
	expecting.Tighten()
	plain.Tighten()
	sorted := slices.Clone(exact)
	slices.SortFunc(sorted, func(a, b uint64) int { return cmp.Compare(b, a) })
	mean := func(l List) (sum float64) {
		for _, it := range l.Items {
			f := exact[stream.ID(it.Key)]
			if it.Lower > f || it.Estimate < f {
				t.Errorf("%v, true %d", it, f)
			}
			if it.Certain && f < sorted[l.K-1] {
				t.Errorf("%v is certain, true %d, the last of the list has %d", it, f, sorted[l.K-1])
			}
			sum += float64(it.Estimate-it.Lower) / float64(l.K)
		}
		return sum
	}
	l, p := expecting.Top(100), plain.Top(100)
	t.Logf("expecting: theta %d, mean bound %.1f, certified %v; plain: theta %d, mean bound %.1f, certified %v",
		l.Theta, mean(l), l.Certified, p.Theta, mean(p), p.Certified)
	if !l.Certified || mean(l) > mean(p)/8 {
		t.Errorf("certified %v, mean bound %.1f and without expecting %.1f", l.Certified, mean(l), mean(p))
	}
}

func TestExpectDoesNothingWhereItIsNoUse(t *testing.T) {
	full := newSummary(t, 16, small)
	for i := range 100 {
		add(t, full, fmt.Sprint(i), 1)
	}
	exact := newSummary(t, 16, small)
	add(t, exact, "a", 1)
	zero := newSummary(t, 16, small)
	add(t, zero, "a", 0)
	twice := newSummary(t, 16, small)
	twice.Expect(full, 3)
	for name, c := range map[string]struct{ s, prev *Summary }{
		"a summary that has counted": {exact, full},
		"one that counted weight 0":  {zero, full},
		"one that expects already":   {twice, full},
		"itself":                     {full, full},
		"an exact summary before":    {newSummary(t, 16, small), exact},
		"an empty one before":        {newSummary(t, 16, small), newSummary(t, 16, small)},
	} {
		before := encode(t, c.s)
		c.s.Expect(c.prev, 4)
		if encode(t, c.s) != before {
			t.Errorf("%s: changed", name)
		}
	}
}

func TestExpectedKeysSurvivePurgesAndLeaveWhenTheyDoNotCome(t *testing.T) {
	prev := newSummary(t, 16, small)
	for i := range 100 {
		add(t, prev, fmt.Sprint("before ", i), uint64(i+1))
	}
	s := newSummary(t, 16, small)
	s.Expect(prev, 100)
	if s.Size() != 4 || len(s.Top(16).Items) != 0 {
		t.Fatalf("%d expected, list %v", s.Size(), s.Top(16))
	}
	for i := range 100 {
		add(t, s, fmt.Sprint("now ", i), 1)
	}
	add(t, s, "before 99", 1)
	if lower, upper := s.Bounds("before 99"); lower != 1 || upper != 1 {
		t.Errorf("an expected key is %d to %d", lower, upper)
	}
	if n, _ := s.Distinct(); n < 90 || n > 112 {
		t.Errorf("%d distinct of 101", n)
	}
	merged := merge(t, newSummary(t, 16, small), s)
	s.Unpin()
	if encode(t, merge(t, newSummary(t, 16, small), s)) != encode(t, merged) {
		t.Error("Unpin changed what is merged")
	}
	for _, it := range s.Top(16).Items {
		if it.Estimate == 0 {
			t.Errorf("%v stayed", it)
		}
	}
	expecting := newSummary(t, 16, small)
	expecting.Expect(prev, 100)
	for i := range merge(t, expecting, merged).residents.slots {
		if expecting.residents.hot[i].lo == 0 {
			t.Errorf("%q stayed in a merged summary", expecting.residents.key(i))
		}
	}
	size := s.Size()
	if s.Unpin(); s.Size() != size {
		t.Error("Unpin twice")
	}
}
