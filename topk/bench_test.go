package topk

import (
	"testing"

	"github.com/otel-topk/collector/topk/internal/reference"
	"github.com/otel-topk/collector/topk/internal/stream"
)

// engine counts a stream from nothing.
type engine struct {
	name  string
	count func(tb testing.TB, st *stream.Stream)
}

// engines for 640 residents. The floor reads the table that full has in the end.
func engines(full *Summary) []engine {
	return []engine{
		{"floor", func(_ testing.TB, st *stream.Stream) { sink += floor(full, st.Keys) }},
		{"block", func(tb testing.TB, st *stream.Stream) { countBatches(tb, newSummary(tb, 640, standard), st) }},
		{"call", func(tb testing.TB, st *stream.Stream) {
			s := newSummary(tb, 640, standard)
			for i, key := range st.Keys {
				if err := s.Add(key, weight(st.Weights, i)); err != nil {
					tb.Fatal(err)
				}
			}
		}},
		{"map", func(_ testing.TB, st *stream.Stream) {
			e := reference.NewExact(100)
			for i, key := range st.Keys {
				e.Add(key, weight(st.Weights, i))
			}
		}},
		{"textbook", func(_ testing.TB, st *stream.Stream) {
			e := reference.NewTextbook(standard.Width, 100)
			for i, key := range st.Keys {
				e.Add(key, weight(st.Weights, i))
			}
		}},
	}
}

var sink uint64

// BenchmarkCount is for benchstat: an op is a stream of a million events.
func BenchmarkCount(b *testing.B) {
	for _, draw := range streams {
		st := draw(1_000_000)
		full := newSummary(b, 640, standard)
		countBatches(b, full, st)
		for _, e := range engines(full) {
			b.Run(st.Name+"/"+e.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					e.count(b, st)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(st.Keys)), "ns/event")
			})
		}
	}
}

// minute is one of 69,444 events of Zipf 1.0, 100 million a day.
func minute(tb testing.TB, residents int) *Summary {
	tb.Helper()
	s := newSummary(tb, residents, standard)
	countBatches(tb, s, stream.Zipf("minute", 69_444, 10_000_000, 1, 1))
	return s
}

// BenchmarkMinute is what a gateway does with a minute, and with 4,096 residents of an hour.
func BenchmarkMinute(b *testing.B) {
	m, hour := minute(b, 640), minute(b, 4096)
	data := []byte(encode(b, m))
	var buffer []byte
	var decoded Summary
	for _, c := range []struct {
		name string
		do   func() error
	}{
		{"encode", func() (err error) { buffer, err = m.AppendBinary(buffer[:0]); return err }},
		{"decode", func() error { return decoded.UnmarshalBinary(data) }},
		{"merge", func() error { return hour.Merge(m) }},
		{"top 100", func() error { hour.Top(100); return nil }},
		{"tighten", func() error { hour.Tighten(); return nil }},
		{"distinct", func() error { hour.Distinct(); return nil }},
		{"clone and prune to 1024", func() error { hour.Clone().Prune(1024); return nil }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
