package trendreceiver

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"
)

func TestWhatIsBeingPublishedAtTheEndArrives(t *testing.T) {
	g := newGateway(t, nil)
	lists := newWall(t)
	entered, release := make(chan struct{}, 10), make(chan struct{})
	slow, err := consumer.NewLogs(func(ctx context.Context, ld plog.Logs) error {
		entered <- struct{}{}
		select {
		case <-release:
			return lists.ConsumeLogs(ctx, ld)
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	require.NoError(t, err)
	g.logs(slow)
	g.start()
	require.NoError(t, g.send(newShard(t, 1).counted(map[string]uint64{"a": 3})))
	<-entered
	ended := make(chan error)
	go func() { ended <- g.parts[0].Shutdown(t.Context()) }()
	<-g.trend().stop
	close(release)
	require.NoError(t, <-ended)
	assert.EqualValues(t, 3, lists.global().Total)
}

func TestARequestThatNeverEndsDoesNotHoldUpTheEnd(t *testing.T) {
	d := newDisk(t)
	g := storedGateway(t, d, nil)
	g.logs(newWall(t))
	g.start()
	body, rest := io.Pipe()
	transport := plainHTTP2()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if resp, err := transport.RoundTrip(g.rpc(body)); err == nil {
			assert.NoError(t, resp.Body.Close())
		}
	}()
	_, err := rest.Write([]byte{0, 0, 0, 1, 0, 1, 2, 3})
	require.NoError(t, err)
	resp, err := transport.RoundTrip(g.rpc(bytes.NewReader(make([]byte, 5)))) // on the same connection: the other has begun
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())

	g.trend().patience = 50 * time.Millisecond
	require.NoError(t, g.parts[0].Shutdown(t.Context()), "a reload goes on")
	assert.Contains(t, g.observed.messages(), "Requests that are not answered yet are given up")
	next := storedGateway(t, d, nil)
	next.logs(newWall(t))
	next.start() // the file is free
	assert.NotContains(t, next.observed.messages(), "The storage cannot be used: what is answered is lost with this process")

	require.NoError(t, rest.CloseWithError(io.ErrUnexpectedEOF))
	<-gone
	transport.CloseIdleConnections()
}
