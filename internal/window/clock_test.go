package window

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

const noon = int64(1_700_049_600 * time.Second) // 12:00:00

func TestVerdicts(t *testing.T) {
	wall := Clock{Lateness: 2 * time.Minute, Future: time.Minute}
	event := Clock{Lateness: 2 * time.Minute, Future: time.Minute, Event: true, Newest: noon - int64(time.Hour)}
	fresh := Clock{Lateness: 2 * time.Minute, Future: time.Minute, Event: true}
	for _, tt := range []struct {
		name  string
		clock Clock
		ns    int64
		want  Verdict
	}{
		{"now", wall, noon, OnTime},
		{"as far ahead as allowed", wall, noon + int64(time.Minute), OnTime},
		{"further ahead", wall, noon + int64(time.Minute) + 1, Future},
		{"bucket still open", wall, noon - int64(2*time.Minute), OnTime},
		{"last bucket that has closed", wall, noon - int64(2*time.Minute) - 1, Late},
		{"a clock 27 hours slow", wall, noon - int64(27*time.Hour), Late},
		{"never", wall, 0, Late},
		{"absurdly early", wall, math.MinInt64, Late},
		{"absurdly far ahead", wall, math.MaxInt64, Future},
		{"no lateness", Clock{}, noon - 1, Late},
		{"history after the newest event", event, noon - 1, OnTime},
		{"history before it", event, noon - int64(2*time.Hour), Late},
		{"history is measured against the wall clock ahead", event, noon + int64(time.Minute) + 1, Future},
		{"first event of a history", fresh, -noon, OnTime},
	} {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, tt.clock.Judge(tt.ns, noon)) })
	}
}

func TestClosedAgreesWithExactArithmetic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Clock{Lateness: time.Duration(rapid.Int64Range(0, int64(2*time.Hour)).Draw(t, "lateness"))}
		m, now := MinuteOf(anyTime(t, "ns")), anyTime(t, "now")
		end := new(big.Int).Mul(big.NewInt(int64(m)+1), big.NewInt(int64(Bucket)))
		end.Add(end, big.NewInt(int64(c.Lateness)))
		if limit := big.NewInt(math.MaxInt64); end.Cmp(limit) > 0 {
			end = limit
		}
		assert.Equal(t, end.Cmp(big.NewInt(now)) <= 0, c.Closed(m, now))
	})
}

func TestEventClockFollowsTheNewestEvent(t *testing.T) {
	c := Clock{Event: true}
	assert.Zero(t, c.Now(noon))
	assert.False(t, c.Closed(0, noon))
	c.Observe(noon)
	c.Observe(noon - 1)
	assert.Equal(t, noon, c.Now(noon+5))
	assert.True(t, c.Closed(MinuteOf(noon-1), noon+5))
	assert.False(t, c.Closed(MinuteOf(noon), noon+5))
	assert.Equal(t, noon+5, (&Clock{Newest: noon}).Now(noon+5))
}
