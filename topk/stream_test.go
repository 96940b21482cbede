package topk

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/otel-topk/collector/topk/internal/stream"
)

// streams are the five that speed and recall are measured on.
var streams = []func(events int) *stream.Stream{
	func(n int) *stream.Stream { return stream.Zipf("zipf-1.01-1M", n, 1_000_000, 1.01, 1) },
	func(n int) *stream.Stream { return stream.Zipf("zipf-1.2-1M", n, 1_000_000, 1.2, 2) },
	func(n int) *stream.Stream { return stream.Zipf("zipf-0.8-5M", n, 5_000_000, 0.8, 3) },
	func(n int) *stream.Stream { return stream.Late("late-2M", n, 2_000_000, 4) },
	func(n int) *stream.Stream { return stream.ZipfBytes("bytes-1M", n, 1_000_000, 1.01, 5) },
}

const batchSize = 2048

func countBatches(tb testing.TB, s *Summary, st *stream.Stream) {
	for i := 0; i < len(st.Keys); i += batchSize {
		end := min(i+batchSize, len(st.Keys))
		var weights []uint64
		if st.Weights != nil {
			weights = st.Weights[i:end]
		}
		if err := s.AddBatch(st.Keys[i:end], weights); err != nil {
			tb.Fatal(err)
		}
	}
}

// recall is the part of the list of k that belongs there, ties aside.
func recall(s *Summary, st *stream.Stream, k int) float64 {
	exact := slices.Clone(st.Exact)
	slices.SortFunc(exact, func(a, b uint64) int { return cmp.Compare(b, a) })
	right := 0
	for _, it := range s.Top(k).Items {
		if st.Exact[stream.ID(it.Key)] >= exact[k-1] {
			right++
		}
	}
	return float64(right) / float64(k)
}

func TestRecallOnTheFiveStreams(t *testing.T) {
	events, wantLate := 4_000_000, 0.97 // 0.95 to 0.99 for other seeds
	if testing.Short() || raceEnabled {
		events, wantLate = 1_000_000, 0.95
	}
	for i, draw := range streams {
		st := draw(events)
		s := newSummary(t, 640, standard)
		countBatches(t, s, st)
		at10, at100, want100 := recall(s, st, 10), recall(s, st, 100), 1.0
		if i == 3 {
			want100 = wantLate
		}
		t.Logf("%s: recall at 10 %.2f, at 100 %.2f, certified %v and %v", st.Name, at10, at100, s.Top(10).Certified, s.Top(100).Certified)
		if at10 < 1 || at100 < want100 {
			t.Errorf("%s: recall at 10 %.2f, at 100 %.2f, want 1 and %.2f", st.Name, at10, at100, want100)
		}
		for id, f := range st.Exact {
			if f == 0 {
				continue
			}
			if lower, upper := s.Bounds(stream.Key(uint32(id))); lower > f || upper < f {
				t.Fatalf("%s: %d is %d to %d, true %d", st.Name, id, lower, upper, f)
			}
		}
	}
}

// M7: a uniform stream has no heavy keys, and the list says so.
func TestUniformStreamIsNotCertified(t *testing.T) {
	st := stream.Zipf("uniform", 300_000, 100_000, 0, 1)
	s := newSummary(t, 640, standard)
	countBatches(t, s, st)
	for _, k := range []int{1, 10, 100, 640} {
		l := s.Top(k)
		if l.Certified {
			t.Errorf("list of %d is certified", k)
		}
		for _, it := range l.Items {
			if f := st.Exact[stream.ID(it.Key)]; it.Certain || it.RankCertain || it.Lower > f || it.Estimate < f {
				t.Errorf("%v, true %d", it, f)
			}
		}
	}
}

// K10: millions of keys seen once take no memory, and the heavy ones are still found.
func TestKeysSeenOnceTakeNoMemory(t *testing.T) {
	few, many := 1_000_000, 10_000_000
	if testing.Short() || raceEnabled {
		few, many = 100_000, 1_000_000
	}
	s := newSummary(t, 640, standard)
	var key []byte
	count := func(from, to int) uint64 {
		for i := from; i < to; i++ {
			key = strconv.AppendInt(append(key[:0], "once-"...), int64(i), 10)
			add(t, s, string(key), 1)
			if i%200 == 0 {
				add(t, s, "heavy-"+strconv.Itoa(i/200%10), 1)
			}
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := count(0, few)
	after := count(few, many)
	if after > before+before/10 {
		t.Errorf("%d bytes live after %d keys, %d after %d", before, few, after, many)
	}
	l := s.Top(10)
	for _, it := range l.Items {
		if f := uint64(many / 2000); it.Key[:6] != "heavy-" || it.Lower > f || it.Estimate < f {
			t.Errorf("%v, true %d", it, f)
		}
	}
	if n, exact := s.Distinct(); exact || float64(n) < 0.95*float64(many) || float64(n) > 1.05*float64(many) {
		t.Errorf("%d distinct of %d", n, many)
	}
}

// K11: one key carries nine tenths; it is counted exactly and the others are as right as without it.
func TestOneKeyThatCarriesNineTenths(t *testing.T) {
	st := stream.Zipf("zipf", 200_000, 10_000, 1.2, 1)
	s := newSummary(t, 640, standard)
	var batch []string
	for i, key := range st.Keys {
		for range 9 {
			batch = append(batch, "whale")
		}
		if batch = append(batch, key); len(batch) > 1000 || i == len(st.Keys)-1 {
			if err := s.AddBatch(batch, nil); err != nil {
				t.Fatal(err)
			}
			batch = batch[:0]
		}
	}
	l := s.Top(11)
	if l.Items[0] != (Item{"whale", 1_800_000, 1_800_000, true, true}) || !l.Certified {
		t.Errorf("%v", l)
	}
	for i, it := range l.Items[1:] {
		if f := st.Exact[stream.ID(it.Key)]; stream.ID(it.Key) != uint32(i) || it.Lower > f || it.Estimate < f {
			t.Errorf("item %d is %v, true %d", i+1, it, f)
		}
	}
}

// M8
func TestListsOfAnyLength(t *testing.T) {
	s := newSummary(t, 640, standard)
	for i := range 5 {
		add(t, s, fmt.Sprint(i), uint64(i+1))
	}
	for k, want := range map[int]int{-1: 0, 0: 0, 1: 1, 5: 5, 6: 5, 1e9: 5} {
		l := s.Top(k)
		if len(l.Items) != want || !l.Certified || l.K != max(k, 0) {
			t.Errorf("Top(%d) has %d items, certified %v", k, len(l.Items), l.Certified)
		}
		if f := l.First(1e9); len(f.Items) != want || f.K != l.K {
			t.Errorf("First beyond %d has %d items", k, len(f.Items))
		}
	}
}
