package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var day = Keep{Minutes: 2 * time.Hour, FiveMinutes: 24 * time.Hour, Hours: 24 * time.Hour}

func TestWindowsStartOnAnEdgeOfWhatIsKept(t *testing.T) {
	at := func(hour, minute int) Minute { return MinuteOf(noon) + Minute((hour-12)*60+minute) }
	month := Keep{Minutes: 2 * time.Hour, FiveMinutes: 24 * time.Hour, Hours: 720 * time.Hour}
	for _, tt := range []struct {
		name   string
		keep   Keep
		w      time.Duration
		newest Minute
		want   Minute
	}{
		{"5m is four whole minutes and the open one", day, 5 * time.Minute, at(12, 7), at(12, 3)},
		{"one bucket", day, time.Minute, at(12, 7), at(12, 7)},
		{"1h starts on a minute", day, time.Hour, at(12, 7), at(11, 8)},
		{"2h is the last that does", day, 2 * time.Hour, at(12, 7), at(10, 8)},
		{"3h starts on a 5-minute edge, the later one", day, 3 * time.Hour, at(12, 7), at(9, 10)},
		{"already on an edge", day, 3 * time.Hour, at(12, 9), at(9, 10)},
		{"24h too", day, 24 * time.Hour, at(12, 7), at(-12, 10)},
		{"two days start on an hour", month, 48 * time.Hour, at(12, 7), at(-35, 0)},
		{"minutes kept for a day", Keep{24 * time.Hour, 24 * time.Hour, 24 * time.Hour}, 24 * time.Hour, at(12, 7), at(-12, 8)},
		{"nothing is kept as long", day, 48 * time.Hour, at(12, 7), at(12, 8)},
		{"before the Unix epoch", day, 3 * time.Hour, 7, -170},
	} {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, tt.keep.Start(tt.w, tt.newest)) })
	}
}

func TestCoverHoldsEachMinuteOnceInPartsThatAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keep := day
		keep.Minutes = time.Duration(rapid.Int64Range(5, 24*60).Draw(t, "keep")) * Bucket
		w := time.Duration(rapid.Int64Range(1, 24*60).Draw(t, "window")) * Bucket
		newest := Minute(rapid.Int64Range(-1e4, 1e8).Draw(t, "newest"))
		first := keep.Start(w, newest)
		assert.LessOrEqual(t, newest-first, Minute(w/Bucket))
		if w <= keep.Minutes {
			require.Equal(t, Minute(w/Bucket), newest-first+1)
		}
		at := first
		parts := Cover(first, newest)
		for _, p := range parts {
			require.Equal(t, at, p.Start)
			require.Equal(t, p, PartOf(p.Start, p.Size))
			require.True(t, keep.Kept(p, newest), "%v of %d", p, newest)
			at = p.End()
		}
		require.Equal(t, newest+1, at)
		require.LessOrEqual(t, len(parts), 2*(4+11)+23)
		if next := keep.Start(w, newest+1); next < first {
			t.Fatalf("the start moved back from %d to %d", first, next)
		}
	})
}

func TestCoverTakesTheLargestPartThatFits(t *testing.T) {
	assert.Empty(t, Cover(5, 4))
	assert.Equal(t, []Part{{7, 1}}, Cover(7, 7))
	assert.Equal(t, []Part{{-60, OneHour}, {0, FiveMinutes}, {5, OneMinute}}, Cover(-60, 5))
	assert.Equal(t, []Part{{58, 1}, {59, 1}, {60, 60}, {120, 5}, {125, 1}}, Cover(58, 125))
}
