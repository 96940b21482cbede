package trendreceiver

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
)

func TestClosedHoursGoToTheLogsPipelineOnly(t *testing.T) {
	l, w := newLives(t), newWall(t)
	g := storedGateway(t, l.disk, nil)
	gauges := new(consumertest.MetricsSink)
	g.logs(w)
	g.metrics(gauges)
	g.trend().now = l.now
	g.start()
	total := sendGroups(t, g, l.now())
	first := window.MinuteOf(l.now().Truncate(time.Hour).UnixNano())
	w.until(func() bool { return w.global().Total == total }, "everything is published")
	g.publication()
	assert.Empty(t, w.closed(), "the hour is open")

	l.pass(time.Hour)
	w.until(func() bool { return len(w.closed()) == 3 }, "global, eu and us")
	assert.Equal(t, total, w.closed()[hour{"tenants", first, rule.Group{}}].Summary.Total())
	assert.EqualValues(t, 18, w.closed()[hour{"tenants", first, rule.Group{Scope: rule.ScopeGroup, Name: "us"}}].Summary.Total())
	g.publication()
	assert.GreaterOrEqual(t, g.metric("rollups_published"), int64(3))
	for _, md := range gauges.AllMetrics() {
		for _, m := range md.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().All() {
			assert.True(t, strings.HasPrefix(m.Name(), "topk_"))
		}
	}
}

func TestManyHoursGoInRequestsOfABoundedSize(t *testing.T) {
	s := newShard(t, 1).grouped()
	weights := map[string]uint64{}
	for i := range s.rule.Residents {
		weights[strings.Repeat("k", 60+i)] = 1
	}
	summary := s.state(time.Now(), rule.Group{}, weights).Summary
	var rollups []*wire.Rollup
	for i := range 3000 {
		rollups = append(rollups, &wire.Rollup{
			Rule: s.rule, Hour: 60, Group: rule.Group{Scope: rule.ScopeGroup, Name: fmt.Sprint(i)}, AsOf: time.Unix(1000, 0), Summary: summary,
		})
	}
	rollups[7].Hour = 61 // begins no hour
	w := newWall(t)
	sent, failures := publishRollups(t.Context(), w, rollups)
	assert.Equal(t, len(rollups)-1, sent)
	require.Len(t, failures, 1)
	assert.ErrorContains(t, failures[0], "hour")
	assert.Greater(t, len(w.requests), 2)
	for _, size := range w.requests {
		assert.LessOrEqual(t, size, maxRequestBytes+4096)
	}
	assert.Len(t, w.closed(), sent)
}

func TestHoursThatAPipelineDoesNotTakeAreCountedAsFailures(t *testing.T) {
	p := newListPipeline()
	p.answer(errors.New("full"))
	s := newShard(t, 1)
	sent, failures := publishRollups(t.Context(), p, []*wire.Rollup{{
		Rule: s.rule, Hour: 60, AsOf: time.Unix(1000, 0), Summary: s.state(time.Now(), rule.Group{}, nil).Summary,
	}})
	assert.Zero(t, sent)
	assert.Len(t, failures, 1)
}
