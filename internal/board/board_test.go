package board

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/topk"
)

func wallConfig() Config {
	return Config{
		Windows: []time.Duration{5 * time.Minute, time.Hour, 24 * time.Hour}, Retain: 2 * time.Hour, PointQueries: "global",
		MaxRules: 100, MaxGroups: 1000, MaxEpochs: 10000, KeepMinutes: 2 * time.Hour,
	}
}

func TestStatesBecomeLists(t *testing.T) {
	b := New(wallConfig())
	s := newShard(t, 1, "a", ungrouped(t, "tenants"))
	now := noon + int64(90*time.Second)
	require.NoError(t, b.Report(&s.report, now))
	for key, n := range map[string]int{"x": 3, "y": 2, "z": 1} {
		for range n {
			s.add(now, global, key, 1)
		}
	}
	m := window.MinuteOf(now)
	accept(t, b, now, s.send(m, false)...)
	published := b.Publish(now)
	changed, ended := published.Changed, published.Ended
	assert.Empty(t, ended)
	require.Len(t, changed, 3)
	list := changed[0].Snapshot
	assert.Equal(t, 5*time.Minute, list.Window)
	assert.Equal(t, (m - 4).Start(), list.WindowStart.UnixNano())
	assert.Equal(t, now, list.AsOf.UnixNano())
	assert.Equal(t, []topk.Item{
		{Key: "x", Estimate: 3, Lower: 3, Certain: true, RankCertain: true},
		{Key: "y", Estimate: 2, Lower: 2, Certain: true, RankCertain: true},
		{Key: "z", Estimate: 1, Lower: 1, Certain: true, RankCertain: true},
	}, list.List.Items)
	assert.EqualValues(t, 6, list.Total)
	assert.EqualValues(t, 1, list.Coverage.Reporting)

	now += int64(5 * time.Second)
	changed = b.Publish(now).Changed
	assert.Empty(t, changed)
	now += int64(55 * time.Second)
	accept(t, b, now, s.send(m, true)...)
	assert.EqualValues(t, 1, b.Stats().LiveStates)
	changed = b.Publish(now).Changed
	require.Len(t, changed, 3)
	for _, c := range changed {
		assert.EqualValues(t, 6, c.Snapshot.Total)
		_, upper := c.Summary.Summary.Bounds("x")
		assert.EqualValues(t, 3, upper)
	}
	assert.Zero(t, b.Stats().LiveStates)
	assert.Equal(t, 3, b.Stats().Parts)
}
