package trendreceiver

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otel-topk/collector/internal/board"
	"github.com/otel-topk/collector/internal/wire"
)

func TestAStorageThatCannotBeIsAnErrorOfTheStart(t *testing.T) {
	for name, tt := range map[string]struct {
		host component.Host
		want string
	}{
		"no such extension":       {componenttest.NewNopHost(), `storage: there is no extension "file_storage"`},
		"an extension of no kind": {&storedHost{extension: &gate{}}, `storage: "file_storage" is no storage extension`},
	} {
		t.Run(name, func(t *testing.T) {
			g := storedGateway(t, nil, nil)
			g.host = tt.host
			g.logs(newListPipeline())
			assert.ErrorContains(t, g.parts[0].Start(t.Context(), g.host), tt.want)
		})
	}
}

func TestAStorageThatCannotBeOpenedIsToldAndTheGatewayWorksWithout(t *testing.T) {
	d := newDisk(t)
	d.opening = errors.New("read-only file system")
	g := storedGateway(t, d, nil)
	lists := newWall(t)
	g.logs(lists)
	g.start()
	require.NoError(t, g.send(newShard(t, 1).counted(map[string]uint64{"a": 3})))
	lists.until(func() bool { return lists.global().Total == 3 }, "lists are published")
	assert.Equal(t, []componentstatus.Status{componentstatus.StatusRecoverableError}, g.host.(*storedHost).told())
	told := g.observed.logs.FilterMessage("The storage cannot be used: what is answered is lost with this process").All()
	require.Len(t, told, 1)
	assert.Contains(t, told[0].ContextMap()["error"], "read-only file system")
	assert.EqualValues(t, 0, g.metric("storage_up"))
}

func TestWhatCannotBeStoredIsCountedAndNotAnswered(t *testing.T) {
	d := newDisk(t)
	g := storedGateway(t, d, nil)
	lists := newWall(t)
	g.logs(lists)
	g.start()
	s := newShard(t, 1)
	require.NoError(t, g.send(s.counted(map[string]uint64{"a": 1})))
	assert.EqualValues(t, 1, g.metric("storage_up"))

	d.fail(errors.New("no space left on device"))
	ld := s.counted(map[string]uint64{"a": 2})
	for range 3 {
		answer := status.Convert(g.send(ld))
		require.Equal(t, codes.Unavailable, answer.Code())
		require.Len(t, answer.Details(), 2)
		info := answer.Details()[0].(*errdetails.ErrorInfo)
		assert.Equal(t, []string{wire.Domain, wire.NotStored}, []string{info.GetDomain(), info.GetReason()})
		assert.LessOrEqual(t, answer.Details()[1].(*errdetails.RetryInfo).GetRetryDelay().AsDuration(), 10*time.Second)
	}
	assert.Equal(t, "10", g.post(ld).retryAfter)
	lists.until(func() bool { return lists.global().Total == 2 }, "lists go on from memory")
	assert.EqualValues(t, 0, g.metric("storage_up"))
	assert.EqualValues(t, 1, g.metric("storage_failures"), "it is left alone for a second")

	d.fail(nil)
	g.deliver(ld)
	assert.EqualValues(t, 1, g.metric("storage_up"))
	assert.Equal(t, []componentstatus.Status{componentstatus.StatusRecoverableError, componentstatus.StatusOK}, g.host.(*storedHost).told())
	assert.Len(t, g.observed.logs.FilterMessage("The storage takes nothing: shards are told to come again, and lists go on from memory").All(), 1)
	assert.Len(t, g.observed.logs.FilterMessage("The storage works again").All(), 1)
}

func TestWhatTheBoardChangesTogetherIsWrittenTogether(t *testing.T) {
	d := newDisk(t)
	g := storedGateway(t, d, func(c *Config) { c.PublishInterval = time.Minute })
	g.logs(newWall(t))
	g.start()
	r := g.trend()
	inside, committed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(committed)
		<-inside
		assert.NoError(t, r.storage.commit(context.Background(), nil), "of another request")
	}()
	require.NoError(t, r.locked(func(*board.Board) {
		r.storage.Set("test/one", []byte("1"))
		close(inside)
		<-committed
		r.storage.Set("test/two", []byte("2"))
		value, err := r.storage.Get("test/one")
		assert.NoError(t, err)
		assert.Equal(t, "1", string(value))
	}))
	d.writes.Store(nil)
	require.NoError(t, r.storage.commit(t.Context(), nil))
	assert.ElementsMatch(t, []string{"test/one", "test/two"}, *d.writes.Load())
}

func TestAValueThatCannotBeStoredIsNotAnswered(t *testing.T) {
	g := storedGateway(t, newDisk(t), nil)
	g.logs(newWall(t))
	g.start()
	r := g.trend()
	assert.Error(t, r.change(t.Context(), func(*board.Board) { r.storage.Set("", []byte("1")) }))
	assert.Eventually(t, func() bool {
		return r.change(t.Context(), func(*board.Board) { r.storage.Set("test/one", []byte("1")) }) == nil
	}, 10*time.Second, 10*time.Millisecond, "the next can")
}

func TestALongPublicationLetsRequestsThrough(t *testing.T) {
	g := storedGateway(t, newDisk(t), func(c *Config) { c.PublishInterval = time.Minute })
	g.logs(newWall(t))
	g.start()
	r := g.trend()
	through := make(chan struct{})
	require.NoError(t, r.locked(func(*board.Board) {
		assert.False(t, r.pause(), "it has just begun")
		go func() {
			defer close(through)
			r.stats()
		}()
		r.storage.Set("test/one", []byte("1"))
		for in, end := false, time.Now().Add(10*time.Second); !in; {
			require.True(t, time.Now().Before(end), "nobody comes through")
			r.since = time.Now().Add(-longest)
			assert.True(t, r.pause())
			select {
			case <-through:
				in = true
			default:
			}
		}
		value, err := r.storage.depot.Get(t.Context(), "test/one")
		assert.NoError(t, err)
		assert.Equal(t, "1", string(value), "what was stored so far goes with what they commit")
	}))
}
