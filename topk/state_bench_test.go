package topk

import (
	"testing"

	"github.com/otel-topk/collector/topk/internal/stream"
)

// minute is what a shard counts in a minute at 1,157 records a second a shard: 69,444 events of Zipf 1.0 over 10 M keys.
func minute(tb testing.TB, residents int) *Summary {
	sampler := stream.NewSampler(10_000_000, 1, 1)
	s, err := New(residents, testShape)
	if err != nil {
		tb.Fatal(err)
	}
	var keys []string
	for range 69_444 {
		keys = append(keys, stream.Key(sampler.Next()))
	}
	if err := s.AddBatch(keys, nil); err != nil {
		tb.Fatal(err)
	}
	return s
}

var testShape = Shape{Width: 2719, Depth: 5}

func BenchmarkState(b *testing.B) {
	m := minute(b, 640)
	data, _ := m.MarshalBinary()
	merged, _ := New(4096, testShape)
	for i := 0; merged.Size() < 4096 && i < 20; i++ {
		merged.Merge(m)
	}
	big := minute(b, 4096)
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		b.ReportMetric(float64(len(data)), "bytes")
		buf := make([]byte, 0, 64<<10)
		c := cpuTime(b)
		defer func() { b.ReportMetric(float64(cpuTime(b)-c)/float64(b.N), "cpu-ns/op") }()
		for b.Loop() {
			buf, _ = m.AppendBinary(buf[:0])
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		c := cpuTime(b)
		defer func() { b.ReportMetric(float64(cpuTime(b)-c)/float64(b.N), "cpu-ns/op") }()
		for b.Loop() {
			var s Summary
			if err := s.UnmarshalBinary(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("merge", func(b *testing.B) {
		b.ReportAllocs()
		c := cpuTime(b)
		defer func() { b.ReportMetric(float64(cpuTime(b)-c)/float64(b.N), "cpu-ns/op") }()
		for b.Loop() {
			big.Merge(m)
		}
	})
	b.Run("roundtrip", func(b *testing.B) {
		b.ReportAllocs()
		buf := make([]byte, 0, 64<<10)
		c := cpuTime(b)
		defer func() { b.ReportMetric(float64(cpuTime(b)-c)/float64(b.N), "cpu-ns/op") }()
		for b.Loop() {
			var s Summary
			buf, _ = m.AppendBinary(buf[:0])
			s.UnmarshalBinary(buf)
			big.Merge(&s)
		}
	})
	b.Run("top100", func(b *testing.B) {
		b.ReportAllocs()
		c := cpuTime(b)
		defer func() { b.ReportMetric(float64(cpuTime(b)-c)/float64(b.N), "cpu-ns/op") }()
		for b.Loop() {
			big.Top(100)
		}
	})
	b.Run("clone+prune1024", func(b *testing.B) {
		b.ReportAllocs()
		c := cpuTime(b)
		defer func() { b.ReportMetric(float64(cpuTime(b)-c)/float64(b.N), "cpu-ns/op") }()
		for b.Loop() {
			big.Clone().Prune(1024)
		}
	})
	b.Run("tighten", func(b *testing.B) {
		c := cpuTime(b)
		defer func() { b.ReportMetric(float64(cpuTime(b)-c)/float64(b.N), "cpu-ns/op") }()
		for b.Loop() {
			big.Tighten()
		}
	})
	b.Run("distinct", func(b *testing.B) {
		c := cpuTime(b)
		defer func() { b.ReportMetric(float64(cpuTime(b)-c)/float64(b.N), "cpu-ns/op") }()
		for b.Loop() {
			big.Distinct()
		}
	})
	b.Logf("theta %d size %d, big %d", m.Theta(), m.Size(), big.Size())
}
