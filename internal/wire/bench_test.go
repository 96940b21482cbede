package wire_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

// BenchmarkState is one state of the default size with a tail, from shard to gateway without the network.
func BenchmarkState(b *testing.B) {
	s := full(b)
	encoded, err := s.Summary.AppendBinary(nil)
	require.NoError(b, err)
	s.Encoded = encoded
	ld := plog.NewLogs()
	_, err = wire.AppendState(ld, s)
	require.NoError(b, err)
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(encoded)))
		for b.Loop() {
			if _, err := wire.AppendState(plog.NewLogs(), s); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(encoded)))
		for b.Loop() {
			for _, err := range wire.Messages(ld) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// BenchmarkSnapshot is one list of 100.
func BenchmarkSnapshot(b *testing.B) {
	s := snapshot(b)
	s.Rule.K, s.Rule.Residents = 100, 640
	counted := full(b).Summary
	s.Total, s.TotalUpper, s.List = counted.Total(), counted.TotalUpper(), counted.Top(100)
	ld := plog.NewLogs()
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ld = plog.NewLogs()
			wire.AppendSnapshot(ld, s)
		}
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, err := range wire.Publications(ld) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// full is a state whose summary has the default shape and a tail.
func full(b *testing.B) *wire.State {
	s := state(b)
	s.Rule.K, s.Rule.Residents = 100, 640
	s.Rule.Shape = topk.Shape{Width: 2719, Depth: 5}
	var err error
	s.Summary, err = topk.New(640, s.Rule.Shape)
	require.NoError(b, err)
	for i := range 50_000 {
		require.NoError(b, s.Summary.Add(fmt.Sprintf("tenant-%d", i%(i/7+1)), 1))
	}
	return s
}
