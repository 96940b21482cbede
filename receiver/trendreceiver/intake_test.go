package trendreceiver

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/receiver/trendreceiver/internal/metadatatest"
)

func TestWhatIsNoStateIsRefusedWithTheReasonAndTheGoodStatesArrive(t *testing.T) {
	publishing(t, nil, func(t *testing.T, r *trend, lists *listPipeline, o observed) {
		ld := foreign(plog.NewLogs())
		newShard(t, 1).counted(map[string]uint64{"a": 3}).ResourceLogs().MoveAndAppendTo(ld.ResourceLogs())
		err := r.consume(t.Context(), ld)
		assert.Equal(t, codes.InvalidArgument, status.Code(err))
		assert.ErrorContains(t, err, "1 of 3 records refused: record 0: scope: neither")
		assert.NotContains(t, err.Error(), "private")

		<-lists.came
		snapshots, _ := lists.take(t)
		assert.EqualValues(t, 3, snapshots[0].Total)
		refused(t, o, map[string]int64{"foreign": 1})
	})
}

func TestManyRefusalsAreCountedEachAndToldOnceAMinute(t *testing.T) {
	publishing(t, nil, func(t *testing.T, r *trend, _ *listPipeline, o observed) {
		ld := plog.NewLogs()
		for range 10 {
			foreign(ld)
		}
		for range 5 {
			err := r.consume(t.Context(), ld)
			assert.ErrorContains(t, err, "10 of 10 records refused: record 0: ")
			assert.ErrorContains(t, err, "; ...")
			assert.NotContains(t, err.Error(), "record 3")
		}
		assert.Equal(t, []string{"Records refused"}, o.messages())
		time.Sleep(time.Minute)
		require.Error(t, r.consume(t.Context(), ld))
		assert.Equal(t, []string{"Records refused", "Records refused"}, o.messages())
		for _, e := range o.logs.All() {
			assert.NotContains(t, e.ContextMap()["error"], "private")
		}
		refused(t, o, map[string]int64{"foreign": 60})
	})
}

func TestAShardTooManyIsToldToComeAgain(t *testing.T) {
	publishing(t, func(c *Config) { c.MaxShards = 1 }, func(t *testing.T, r *trend, _ *listPipeline, o observed) {
		require.NoError(t, r.consume(t.Context(), newShard(t, 1).counted(map[string]uint64{"a": 1})))
		err := r.consume(t.Context(), newShard(t, 2).counted(map[string]uint64{"a": 1}))
		s := status.Convert(err)
		require.Equal(t, codes.ResourceExhausted, s.Code())
		require.Len(t, s.Details(), 1)
		assert.Equal(t, 10*time.Second, s.Details()[0].(*errdetails.RetryInfo).GetRetryDelay().AsDuration())
		refused(t, o, map[string]int64{"overloaded": 2})
		assert.Equal(t, map[string]int64{"overload": 2}, limits(t, o))

		require.NoError(t, r.consume(t.Context(), newShard(t, 1).counted(map[string]uint64{"a": 2})), "the others go on")
	})
}

func TestWhatTheBoardRefusesIsRefusedForGood(t *testing.T) {
	for name, tt := range map[string]struct {
		state  func(s *shard) *wire.State
		reason string
	}{
		"a rule too many": {func(s *shard) *wire.State {
			s.rule.Name = "second"
			return s.state(time.Now(), rule.Group{}, nil)
		}, "rules"},
		"a state too late": {func(s *shard) *wire.State {
			return s.state(time.Now().Add(-3*time.Hour), rule.Group{}, nil)
		}, "too_late"},
		"a state ahead of time": {func(s *shard) *wire.State {
			return s.state(time.Now().Add(3*time.Hour), rule.Group{}, nil)
		}, "too_early"},
		"a state that weighs too much": {func(s *shard) *wire.State {
			return s.state(time.Now(), rule.Group{}, map[string]uint64{"a": 1 << 62})
		}, "weight"},
	} {
		t.Run(name, func(t *testing.T) {
			publishing(t, func(c *Config) { c.MaxRules = 1 }, func(t *testing.T, r *trend, _ *listPipeline, o observed) {
				require.NoError(t, r.consume(t.Context(), newShard(t, 1).counted(map[string]uint64{"a": 1})))
				s := newShard(t, 2)
				err := r.consume(t.Context(), s.request(tt.state(s)))
				assert.Equal(t, codes.InvalidArgument, status.Code(err))
				assert.ErrorContains(t, err, "1 of 2 records refused: record 1: board: ")
				refused(t, o, map[string]int64{tt.reason: 1})
			})
		})
	}
}

func TestAReachedLimitIsCountedAndTold(t *testing.T) {
	publishing(t, func(c *Config) { c.MaxGroups = 1 }, func(t *testing.T, r *trend, lists *listPipeline, o observed) {
		s := newShard(t, 1).grouped()
		require.NoError(t, r.consume(t.Context(), s.countedIn("eu", map[string]uint64{"a": 1})))
		require.NoError(t, r.consume(t.Context(), s.countedIn("us", map[string]uint64{"a": 1})))
		<-lists.came
		synctest.Wait()
		assert.Equal(t, map[string]int64{"max_groups tenants": 1}, limits(t, o))
		assert.Equal(t, []string{"A limit is reached"}, o.messages())
		assert.Equal(t, "tenants", o.logs.All()[0].ContextMap()["rule"])
	})
}

func TestTheLimitOfMemoryIsNamedWhereItAndNotMaxGroupsIsReached(t *testing.T) {
	publishing(t, func(c *Config) { c.MaxListsSize = 2 << 20 }, func(t *testing.T, r *trend, lists *listPipeline, o observed) {
		s := newShard(t, 1).grouped()
		for i := range 50 {
			require.NoError(t, r.consume(t.Context(), s.countedIn(strings.Repeat("g", i+1), map[string]uint64{"a": 1})))
		}
		<-lists.came
		synctest.Wait()
		reached := limits(t, o)
		assert.Positive(t, reached["max_lists_size tenants"])
		assert.NotContains(t, reached, "max_groups tenants")
	})
}

func TestShardsMaySendAtTheSameTimeAsListsArePublished(t *testing.T) {
	publishing(t, func(c *Config) { c.PublishInterval = 100 * time.Millisecond }, func(t *testing.T, r *trend, lists *listPipeline, _ observed) {
		const shards, requests = 8, 25
		var wg sync.WaitGroup
		for i := range shards {
			wg.Go(func() {
				s := newShard(t, byte(i+1))
				for n := range uint64(requests) {
					assert.NoError(t, r.consume(t.Context(), s.counted(map[string]uint64{"a": n + 1})))
					time.Sleep(10 * time.Millisecond)
				}
			})
		}
		wg.Wait()
		time.Sleep(time.Second)
		snapshots, _ := lists.take(t)
		assert.EqualValues(t, shards*requests, snapshots[len(snapshots)-1].Total)
		assert.Equal(t, shards, snapshots[len(snapshots)-1].Coverage.Reporting)
	})
}

func TestWhatTheBoardHoldsIsSeenFromOutside(t *testing.T) {
	publishing(t, nil, func(t *testing.T, r *trend, _ *listPipeline, o observed) {
		ld := newShard(t, 1).counted(map[string]uint64{"a": 1})
		require.NoError(t, r.consume(t.Context(), ld))
		require.NoError(t, r.consume(t.Context(), ld))
		for name, want := range map[string]int64{
			"accepted": 2, "stale": 1, "folded": 0, "epochs": 1, "states": 1, "rules": 1, "groups": 1, "parts": 0,
		} {
			m, err := o.telemetry.GetMetric("otelcol_receiver_trend_" + name)
			require.NoError(t, err)
			assert.Equal(t, want, sum(m), name)
		}
	})
}

func refused(t *testing.T, o observed, byReason map[string]int64) {
	var want []metricdata.DataPoint[int64]
	for reason, n := range byReason {
		want = append(want, metricdata.DataPoint[int64]{Attributes: attribute.NewSet(attribute.String("reason", reason)), Value: n})
	}
	metadatatest.AssertEqualReceiverTrendRefused(t, o.telemetry, want, metricdatatest.IgnoreTimestamp(), metricdatatest.IgnoreExemplars())
}

// limits are those that were reached.
func limits(t *testing.T, o observed) map[string]int64 {
	m, err := o.telemetry.GetMetric("otelcol_receiver_trend_limit_reached")
	require.NoError(t, err)
	reached := map[string]int64{}
	for _, dp := range m.Data.(metricdata.Sum[int64]).DataPoints {
		if dp.Value > 0 {
			limit, _ := dp.Attributes.Value("limit")
			rule, _ := dp.Attributes.Value("rule")
			reached[strings.TrimSpace(limit.AsString()+" "+rule.AsString())] = dp.Value
		}
	}
	return reached
}

func sum(m metricdata.Metrics) (n int64) {
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		for _, dp := range data.DataPoints {
			n += dp.Value
		}
	case metricdata.Gauge[int64]:
		for _, dp := range data.DataPoints {
			n += dp.Value
		}
	}
	return n
}

func TestARuleWhoseDefinitionChangedIsToldOnce(t *testing.T) {
	publishing(t, nil, func(t *testing.T, r *trend, lists *listPipeline, o observed) {
		s := newShard(t, 1)
		require.NoError(t, r.consume(t.Context(), s.counted(map[string]uint64{"a": 1})))
		time.Sleep(10 * time.Second)
		changed := newShard(t, 2)
		changed.rule.Key = []string{`log.attributes["user.id"]`}
		for range 3 {
			require.NoError(t, r.consume(t.Context(), changed.counted(map[string]uint64{"u": 1})))
			time.Sleep(10 * time.Second)
		}
		told := o.logs.FilterMessage("A rule starts anew: its definition is not the one of before").All()
		require.Len(t, told, 1)
		assert.Equal(t, "tenants", told[0].ContextMap()["rule"])
	})
}
