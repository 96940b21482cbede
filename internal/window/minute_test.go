package window

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// anyTime draws times of which many lie at the limits of int64 and at zero.
func anyTime(t *rapid.T, name string) int64 {
	edge := rapid.SampledFrom([]int64{0, math.MinInt64, math.MaxInt64, int64(1_700_000_000 * time.Second)}).Draw(t, name+" near")
	return rapid.OneOf(
		rapid.Int64(),
		rapid.Map(rapid.Int64Range(-int64(3*time.Hour), int64(3*time.Hour)), func(d int64) int64 { return add(edge, time.Duration(d)) }),
	).Draw(t, name)
}

func TestMinuteHoldsItsTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ns := anyTime(t, "ns")
		m := MinuteOf(ns)
		assert.LessOrEqual(t, m.Start(), ns)
		if m.End() != math.MaxInt64 {
			assert.Less(t, ns, m.End())
			assert.Equal(t, m+1, MinuteOf(m.End()))
		}
	})
}

func TestMinuteEdges(t *testing.T) {
	for _, tt := range []struct {
		name       string
		m          Minute
		start, end int64
	}{
		{"first", 0, 0, 60e9},
		{"before the epoch", -1, -60e9, 0},
		{"of the largest time", MinuteOf(math.MaxInt64), 153722867 * 60e9, math.MaxInt64},
		{"of the smallest time", MinuteOf(math.MinInt64), math.MinInt64, -153722867 * 60e9},
		{"absurd", math.MaxInt64, math.MaxInt64, math.MaxInt64},
		{"absurd, negative", math.MinInt64, math.MinInt64, math.MinInt64},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.start, tt.m.Start())
			assert.Equal(t, tt.end, tt.m.End())
		})
	}
}
