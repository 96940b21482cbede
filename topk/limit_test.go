package topk

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

func newSummary(tb testing.TB, residents int, shape Shape) *Summary {
	tb.Helper()
	s, err := New(residents, shape)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func add(tb testing.TB, s *Summary, key string, weight uint64) {
	tb.Helper()
	if err := s.Add(key, weight); err != nil {
		tb.Fatal(err)
	}
}

func encode(tb testing.TB, s *Summary) string {
	tb.Helper()
	b, err := s.MarshalBinary()
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}

var (
	standard = Shape{Width: 2719, Depth: 5} // of epsilon 0.001, delta 0.01
	small    = Shape{Width: 8, Depth: 5}
)

func TestShapeIsDerivedFromEpsilonAndDelta(t *testing.T) {
	for _, c := range []struct {
		epsilon, delta float64
		width, depth   int
	}{{0.001, 0.01, 2719, 5}, {0.5, 0.5, 6, 1}, {0.0001, 0.0001, 27183, 10}, {0.999, 0.999, 3, 1}} {
		sh, err := NewShape(c.epsilon, c.delta, 7)
		if err != nil || sh != (Shape{c.width, c.depth, 7}) {
			t.Errorf("NewShape(%v, %v): %v, %v", c.epsilon, c.delta, sh, err)
		}
	}
}

func TestShapeOutOfLimitsIsRefusedByName(t *testing.T) {
	nan := math.NaN()
	for _, v := range []float64{0, -1, 1, 2, 1e-30, nan, math.Inf(1)} {
		_, err := NewShape(v, v, 0)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("epsilon is %v, allowed is", v)) ||
			!strings.Contains(err.Error(), fmt.Sprintf("delta is %v, allowed is", v)) {
			t.Errorf("NewShape(%v): %v", v, err)
		}
	}
	for _, c := range []struct {
		residents int
		shape     Shape
		want      string
	}{
		{0, small, "residents is 0, allowed is 1 to 32768"},
		{MaxResidents + 1, small, "residents is 32769, allowed is 1 to 32768"},
		{1, Shape{0, 1, 0}, "width is 0, allowed is 1 to 262144"},
		{1, Shape{MaxWidth + 1, 1, 0}, "width is 262145, allowed is 1 to 262144"},
		{1, Shape{1, 0, 0}, "depth is 0, allowed is 1 to 16"},
		{1, Shape{1, MaxDepth + 1, 0}, "depth is 17, allowed is 1 to 16"},
	} {
		if _, err := New(c.residents, c.shape); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("New(%d, %v): %v, want %s", c.residents, c.shape, err, c.want)
		}
	}
}

func TestSeedIsNeverPrinted(t *testing.T) {
	sh := Shape{Width: 1, Depth: 1, Seed: 1234567890}
	for _, text := range []string{fmt.Sprint(sh), fmt.Sprintf("%+v %#v", sh, sh), fmt.Sprintf("%+v", struct{ S Shape }{sh})} {
		if strings.Contains(text, "1234567890") || strings.Contains(text, "499602d2") {
			t.Errorf("%s holds the seed", text)
		}
	}
	if other := (Shape{Width: 1, Depth: 1, Seed: 1}); fmt.Sprint(sh) == fmt.Sprint(other) {
		t.Errorf("%v for two seeds", sh)
	}
}

func TestResidents(t *testing.T) {
	for k, want := range map[int]int{0: 640, 10: 640, 106: 640, 107: 642, 500: 3000} {
		if got := Residents(k); got != want {
			t.Errorf("Residents(%d) = %d, want %d", k, got, want)
		}
	}
}

func TestTotalStopsAt2To63(t *testing.T) {
	s := newSummary(t, 4, small)
	for i := range 100 { // through the tail, which widens
		add(t, s, fmt.Sprint(i), 1<<56)
	}
	add(t, s, "x", MaxTotal-s.Total())
	if _, upper := s.Bounds("x"); upper < MaxTotal-100<<56 || upper > MaxTotal {
		t.Errorf("x is at most %d", upper)
	}
	before := encode(t, s)
	for _, weight := range []uint64{1, MaxTotal, math.MaxUint64} {
		if err := s.Add("y", weight); !errors.Is(err, ErrTotal) {
			t.Errorf("Add of %d beyond the limit: %v", weight, err)
		}
		if err := s.AddBatch([]string{"a", "y"}, []uint64{0, weight}); !errors.Is(err, ErrTotal) {
			t.Errorf("AddBatch of %d beyond the limit: %v", weight, err)
		}
	}
	if err := s.AddBatch([]string{"a", "b", "c"}, []uint64{1 << 63, 1 << 63, 0}); !errors.Is(err, ErrTotal) {
		t.Errorf("AddBatch of a sum that wraps: %v", err)
	}
	one := newSummary(t, 4, small)
	add(t, one, "y", 1)
	if err := s.Merge(one); !errors.Is(err, ErrTotal) {
		t.Errorf("Merge beyond the limit: %v", err)
	}
	if err := s.MergeBound(one); !errors.Is(err, ErrTotal) {
		t.Errorf("MergeBound beyond the limit: %v", err)
	}
	if encode(t, s) != before {
		t.Error("what was refused changed the summary")
	}
	add(t, s, "z", 0)
	if s.Records() != 102 {
		t.Errorf("%d records", s.Records())
	}
}

func TestRecordsStopAt2To63(t *testing.T) {
	s := newSummary(t, 4, small)
	s.records = MaxTotal - 1
	add(t, s, "a", 0)
	one := newSummary(t, 4, small)
	add(t, one, "a", 0)
	for what, err := range map[string]error{"Add": s.Add("a", 0), "AddBatch": s.AddBatch([]string{"a"}, []uint64{0}), "Merge": s.Merge(one)} {
		if !errors.Is(err, ErrTotal) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestLongKeysAreRefused(t *testing.T) {
	s := newSummary(t, 4, small)
	longest := strings.Repeat("k", MaxKeyBytes)
	add(t, s, longest, 1)
	before := encode(t, s)
	if err := s.Add(longest+"k", 1); !errors.Is(err, ErrKey) {
		t.Errorf("Add: %v", err)
	}
	if err := s.AddBatch([]string{"a", longest + "k", "b"}, nil); !errors.Is(err, ErrKey) {
		t.Errorf("AddBatch: %v", err)
	}
	if encode(t, s) != before {
		t.Error("what was refused changed the summary")
	}
	if l := s.Top(1); l.Items[0].Key != longest || !l.Certified {
		t.Errorf("list of %d bytes", len(l.Items[0].Key))
	}
}

func TestWeightZeroCountsARecordAndNoKey(t *testing.T) {
	s := newSummary(t, 4, small)
	add(t, s, "a", 0)
	if err := s.AddBatch([]string{"a", "b"}, []uint64{0, 0}); err != nil {
		t.Fatal(err)
	}
	if n, exact := s.Distinct(); n != 0 || !exact || s.Records() != 3 || s.Total() != 0 || s.Size() != 0 {
		t.Errorf("%d distinct, %d records, total %d, size %d", n, s.Records(), s.Total(), s.Size())
	}
	add(t, s, "a", 2)
	add(t, s, "a", 0)
	if lower, upper := s.Bounds("a"); lower != 2 || upper != 2 {
		t.Errorf("a is %d to %d", lower, upper)
	}
}

func TestCellsWidenTo64Bits(t *testing.T) {
	s := newSummary(t, 4, small)
	for i := range 5 {
		add(t, s, fmt.Sprint(i), math.MaxUint32-4+uint64(i)) // flushes two of just below 2^32
	}
	if s.tail.wide != nil {
		t.Fatal("wide too early")
	}
	if err := s.Merge(s.Clone()); err != nil {
		t.Fatal(err)
	}
	s.Prune(0)
	if s.tail.narrow != nil || s.Theta() != 2*math.MaxUint32 {
		t.Fatalf("narrow, theta %d", s.Theta())
	}
	for i := range 5 {
		if _, upper := s.Bounds(fmt.Sprint(i)); upper < 2*(math.MaxUint32-4+uint64(i)) {
			t.Errorf("%d is at most %d", i, upper)
		}
	}
	other := newSummary(t, 1, small) // narrow into wide
	add(t, other, "a", 1)
	add(t, other, "b", 1)
	if err := s.Merge(other); err != nil {
		t.Fatal(err)
	}
}
