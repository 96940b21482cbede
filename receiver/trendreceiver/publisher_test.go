package trendreceiver

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/otel-topk/collector/internal/board"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/receiver/trendreceiver/internal/metadatatest"
	"github.com/otel-topk/collector/topk"
)

// publishing runs f in a bubble beside a receiver that publishes but does not listen.
func publishing(t *testing.T, change func(*Config), f func(t *testing.T, r *trend, lists *listPipeline, o observed)) {
	publishingIn(t, func(*testing.T) component.Host { return componenttest.NewNopHost() }, change, f)
}

func publishingIn(
	t *testing.T, host func(*testing.T) component.Host, change func(*Config), f func(t *testing.T, r *trend, lists *listPipeline, o observed),
) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(10 * time.Second) // into the minute
		cfg := createDefaultConfig().(*Config)
		cfg.Windows = []time.Duration{5 * time.Minute}
		if change != nil {
			change(cfg)
		}
		o := observe(t)
		r, err := newTrend(cfg, o.Settings)
		require.NoError(t, err)
		require.NoError(t, r.open(t.Context(), host(t)))
		o.logs.TakeAll() // of the start
		lists := newListPipeline()
		r.lists = lists
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			r.publishUntil(t.Context(), stop)
		}()
		f(t, r, lists, o)
		close(stop)
		<-done
		require.NoError(t, r.storage.close(t.Context()))
		r.telemetry.shutdown()
	})
}

func TestTheFirstListComesWithinASecondOfTheFirstState(t *testing.T) {
	publishing(t, nil, func(t *testing.T, r *trend, lists *listPipeline, _ observed) {
		time.Sleep(1300 * time.Millisecond)
		require.NoError(t, r.consume(t.Context(), newShard(t, 1).counted(map[string]uint64{"a": 3})))
		require.NoError(t, r.consume(t.Context(), newShard(t, 2).counted(map[string]uint64{"a": 2, "b": 1})))
		began := time.Now()
		<-lists.came
		assert.LessOrEqual(t, time.Since(began), time.Second)

		snapshots, summaries := lists.take(t)
		require.Len(t, snapshots, 1)
		assert.EqualValues(t, 6, snapshots[0].Total, "what came together is published together")
		assert.Equal(t, "a", snapshots[0].List.Items[0].Key)
		assert.EqualValues(t, 5, snapshots[0].List.Items[0].Estimate)
		require.Len(t, summaries, 1)
		assert.Equal(t, snapshots[0].AsOf, summaries[0].AsOf)

		require.NoError(t, r.consume(t.Context(), newShard(t, 3).counted(map[string]uint64{"c": 9})))
		began = time.Now()
		<-lists.came
		assert.Equal(t, 5*time.Second, time.Since(began), "then every publish_interval")
	})
}

func TestNothingIsAnsweredOrPublishedBeforeItIsStored(t *testing.T) {
	hold := make(chan chan struct{}, 1)
	host := func(t *testing.T) component.Host {
		d := newDisk(t)
		d.hold = make(chan struct{})
		hold <- d.hold
		return &storedHost{extension: d}
	}
	publishingIn(t, host, func(c *Config) { c.Storage = &storageID }, func(t *testing.T, r *trend, lists *listPipeline, _ observed) {
		answered := make(chan error, 1)
		go func() { answered <- r.consume(t.Context(), newShard(t, 1).counted(map[string]uint64{"a": 3})) }()
		time.Sleep(time.Minute)
		assert.Empty(t, answered)
		assert.Empty(t, lists.came)
		close(<-hold)
		require.NoError(t, <-answered)
		<-lists.came
		snapshots, _ := lists.take(t)
		assert.EqualValues(t, 3, snapshots[0].Total)
	})
}

func TestAHelloIsNothingToPublish(t *testing.T) {
	publishing(t, nil, func(t *testing.T, r *trend, lists *listPipeline, _ observed) {
		s := newShard(t, 1)
		require.NoError(t, r.consume(t.Context(), s.request()))
		time.Sleep(2 * time.Second)
		snapshots, _ := lists.take(t)
		assert.Empty(t, snapshots)

		require.NoError(t, r.consume(t.Context(), s.counted(map[string]uint64{"a": 1})))
		began := time.Now()
		<-lists.came
		assert.LessOrEqual(t, time.Since(began), time.Second)
	})
}

func TestAnUnchangedListComesAgainEachMinute(t *testing.T) {
	publishing(t, nil, func(t *testing.T, r *trend, lists *listPipeline, _ observed) {
		require.NoError(t, r.consume(t.Context(), newShard(t, 1).counted(map[string]uint64{"a": 1})))
		time.Sleep(10 * time.Minute)
		snapshots, _ := lists.take(t)
		assert.GreaterOrEqual(t, len(snapshots), 10, "nobody asked for them")
		last := snapshots[len(snapshots)-1]
		assert.Empty(t, last.List.Items, "the window has moved past its records")
		assert.Zero(t, last.Total)
	})
}

func TestWithoutPointQueriesNoSummaryIsSent(t *testing.T) {
	publishing(t, func(c *Config) { c.PointQueries = board.PointQueriesOff }, func(t *testing.T, r *trend, lists *listPipeline, _ observed) {
		require.NoError(t, r.consume(t.Context(), newShard(t, 1).counted(map[string]uint64{"a": 1})))
		<-lists.came
		snapshots, summaries := lists.take(t)
		assert.Len(t, snapshots, 1)
		assert.Empty(t, summaries)
	})
}

func TestTheListOfAGroupThatEndedIsSentEmpty(t *testing.T) {
	publishing(t, nil, func(t *testing.T, r *trend, lists *listPipeline, _ observed) {
		require.NoError(t, r.consume(t.Context(), newShard(t, 1).grouped().countedIn("eu", map[string]uint64{"a": 1})))
		time.Sleep(10 * time.Minute)
		snapshots, _ := lists.take(t)
		var last *wire.Snapshot
		for _, s := range snapshots {
			if s.Group == (rule.Group{Scope: rule.ScopeGroup, Name: "eu"}) {
				last = s
			}
		}
		require.NotNil(t, last)
		assert.Empty(t, last.List.Items)
	})
}

func TestAFailingPipelineIsCountedAndToldOnceAndPublishingGoesOn(t *testing.T) {
	publishing(t, nil, func(t *testing.T, r *trend, lists *listPipeline, o observed) {
		lists.answer(errors.New("full"))
		s := newShard(t, 1)
		for i := range uint64(4) {
			require.NoError(t, r.consume(t.Context(), s.counted(map[string]uint64{"a": i + 1})))
			time.Sleep(5 * time.Second)
		}
		assert.Equal(t, []string{"Publishing fails"}, o.messages())
		lists.answer(nil)
		require.NoError(t, r.consume(t.Context(), s.counted(map[string]uint64{"a": 9})))
		time.Sleep(5 * time.Second)
		assert.Equal(t, []string{"Publishing fails", "Publishing works again"}, o.messages())
		snapshots, _ := lists.take(t)
		require.Len(t, snapshots, 1)
		assert.EqualValues(t, 9, snapshots[0].Total)

		logs := attribute.NewSet(attribute.String("signal", "logs"))
		metadatatest.AssertEqualReceiverTrendPublishFailures(t, o.telemetry,
			[]metricdata.DataPoint[int64]{{Attributes: logs, Value: 4}}, metricdatatest.IgnoreTimestamp())
		metadatatest.AssertEqualReceiverTrendPublished(t, o.telemetry,
			[]metricdata.DataPoint[int64]{{Attributes: logs, Value: 1}}, metricdatatest.IgnoreTimestamp())
	})
}

func TestManyListsGoInRequestsOfABoundedSize(t *testing.T) {
	s := newShard(t, 1)
	s.rule.Shape.Width = topk.MaxWidth
	s.rule.Residents = 3
	counted := s.state(time.Now(), rule.Group{}, map[string]uint64{"a": 1, "b": 1, "c": 1, "d": 1}) // three rows of cells
	var lists []board.Published
	for range 6 {
		lists = append(lists, board.Published{
			Snapshot: list(t, "a", 5),
			Summary:  &wire.WindowSummary{Rule: s.rule, Window: 5 * time.Minute, AsOf: time.Unix(1000, 0), Summary: counted.Summary},
		})
	}
	p := newListPipeline()
	sent, failures := publishLists(t.Context(), p, lists, []*wire.Snapshot{list(t)})
	require.Empty(t, failures)
	assert.Equal(t, 7, sent)
	var records []int
	for _, ld := range p.requests {
		records = append(records, ld.LogRecordCount())
	}
	assert.Equal(t, []int{6, 6, 1}, records, "a list and its summary stay together")
}
