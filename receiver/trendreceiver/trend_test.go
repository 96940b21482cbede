package trendreceiver

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otel-topk/collector/internal/board"
)

func TestOneConfigurationListensOnceAndPublishesToBothPipelines(t *testing.T) {
	g := newGateway(t, nil)
	lists, gauges := newListPipeline(), new(consumertest.MetricsSink)
	g.logs(lists)
	g.metrics(gauges)
	g.start()

	require.NoError(t, g.send(newShard(t, 1).counted(map[string]uint64{"a": 3})))
	require.NoError(t, g.send(newShard(t, 2).counted(map[string]uint64{"a": 2, "b": 1})))
	<-lists.came
	snapshots, _ := lists.take(t)
	require.Len(t, snapshots, 3, "a list for each window")
	assert.EqualValues(t, 6, snapshots[0].Total)
	assert.Equal(t, 2, snapshots[0].Coverage.Reporting)
	assert.Eventually(t, func() bool { return len(gauges.AllMetrics()) == 1 }, 10*time.Second, time.Millisecond)
	assert.Len(t, g.observed.logs.FilterMessage("Starting GRPC server").All(), 1)
}

func TestEitherPipelineAloneIsEnough(t *testing.T) {
	t.Run("logs", func(t *testing.T) {
		g := newGateway(t, nil)
		lists := newListPipeline()
		g.logs(lists)
		g.start()
		require.NoError(t, g.send(newShard(t, 1).counted(map[string]uint64{"a": 3})))
		<-lists.came
	})
	t.Run("metrics", func(t *testing.T) {
		g := newGateway(t, nil)
		gauges := new(consumertest.MetricsSink)
		g.metrics(gauges)
		g.start()
		require.NoError(t, g.send(newShard(t, 1).counted(map[string]uint64{"a": 3})))
		assert.Eventually(t, func() bool { return len(gauges.AllMetrics()) == 1 }, 10*time.Second, time.Millisecond)
	})
}

func TestTheSenderIsToldWhetherToComeAgain(t *testing.T) {
	g := newGateway(t, func(c *Config) { c.MaxShards = 1 })
	g.logs(newListPipeline())
	g.start()
	require.NoError(t, g.send(newShard(t, 1).counted(nil)))

	err := g.send(foreign(plog.NewLogs()))
	assert.Equal(t, codes.InvalidArgument, status.Code(err))
	assert.ErrorContains(t, err, "scope: neither")
	err = g.send(newShard(t, 2).counted(nil))
	assert.Equal(t, codes.ResourceExhausted, status.Code(err))
	assert.Len(t, status.Convert(err).Details(), 1)

	assert.Equal(t, answer{code: http.StatusOK}, g.post(newShard(t, 1).counted(nil)))
	assert.Equal(t, answer{code: http.StatusBadRequest}, g.post(foreign(plog.NewLogs())))
	assert.Equal(t, answer{code: http.StatusTooManyRequests, retryAfter: "10"}, g.post(newShard(t, 2).counted(nil)))
}

func TestOtherSignalsAreNotAnswered(t *testing.T) {
	g := newGateway(t, nil)
	g.logs(newListPipeline())
	g.start()
	_, err := ptraceotlp.NewGRPCClient(g.dial()).Export(t.Context(), ptraceotlp.NewExportRequest())
	assert.Equal(t, codes.Unimplemented, status.Code(err))
}

func TestNothingListensBeforeEveryPipelineIsReady(t *testing.T) {
	g := newGateway(t, nil)
	g.logs(newListPipeline())
	g.metrics(new(consumertest.MetricsSink))
	require.NoError(t, g.parts[0].Start(t.Context(), componenttest.NewNopHost()))
	assert.Empty(t, g.observed.messages())
	require.NoError(t, g.parts[1].Start(t.Context(), componenttest.NewNopHost()))
	assert.Contains(t, g.observed.messages(), "Starting GRPC server")
}

func TestAStartThatFailsHalfWayLeavesNothing(t *testing.T) {
	taken, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	defer taken.Close()
	g := newGateway(t, func(c *Config) { c.Protocols.HTTP.Get().ServerConfig.NetAddr.Endpoint = taken.Addr().String() })
	g.logs(newListPipeline())
	require.Error(t, g.parts[0].Start(t.Context(), componenttest.NewNopHost()))
	free, err := net.Listen("tcp", g.endpoint("Starting GRPC server"))
	require.NoError(t, err, "the other listener was closed")
	require.NoError(t, free.Close())
}

func TestWhatCameLastIsPublishedAtTheEnd(t *testing.T) {
	g := newGateway(t, func(c *Config) { c.PublishInterval = time.Minute })
	lists := newListPipeline()
	g.logs(lists)
	g.start()
	s := newShard(t, 1)
	require.NoError(t, g.send(s.counted(map[string]uint64{"a": 3})))
	<-lists.came
	require.NoError(t, g.send(s.counted(map[string]uint64{"a": 4})))
	g.shutdown(t.Context())
	snapshots, _ := lists.take(t)
	assert.EqualValues(t, 4, snapshots[len(snapshots)-1].Total)
}

func TestShutdownDoesNotWaitForABlockedPipeline(t *testing.T) {
	g := newGateway(t, nil)
	entered := make(chan struct{}, 10)
	blocked, err := consumer.NewLogs(func(ctx context.Context, _ plog.Logs) error {
		entered <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})
	require.NoError(t, err)
	g.logs(blocked)
	g.start()
	require.NoError(t, g.send(newShard(t, 1).counted(map[string]uint64{"a": 3})))
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	assert.ErrorIs(t, g.parts[0].Shutdown(ctx), context.DeadlineExceeded)
}

func TestAConfigurationCanBeStartedAgain(t *testing.T) {
	g := newGateway(t, nil)
	for range 2 {
		lists := newListPipeline()
		g.parts = nil
		g.logs(lists)
		g.start()
		require.NoError(t, g.send(newShard(t, 1).counted(map[string]uint64{"a": 3})))
		<-lists.came
		snapshots, _ := lists.take(t)
		assert.EqualValues(t, 3, snapshots[0].Total)
		g.shutdown(t.Context())
		g.observed.logs.TakeAll()
	}
}

func TestTheMostMemoryIsToldAtTheStart(t *testing.T) {
	g := newGateway(t, func(c *Config) { c.MaxRules, c.MaxGroups, c.MaxShards = 7, 8, 9 })
	g.logs(newListPipeline())
	g.start()
	told := g.observed.logs.FilterMessage("Merging").All()
	require.Len(t, told, 1)
	line := told[0].ContextMap()
	for key, want := range map[string]int64{"max_rules": 7, "max_groups": 8, "max_shards": 9, "windows": 3} {
		assert.Equal(t, want, line[key], key)
	}
	all := int64(0)
	for _, part := range []string{"states", "lists", "parts", "shards", "rules", "scratch"} {
		all += line[part+"_bytes"].(int64)
	}
	assert.Equal(t, line["memory_bound_bytes"], all)
	assert.Equal(t, board.MemoryOf(g.trend().boardConfig(nil)).Total(), all)
}
