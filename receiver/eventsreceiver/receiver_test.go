package eventsreceiver

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/receiver/eventsreceiver/internal/metadatatest"
)

// held is a pipeline that answers when it may.
type held struct {
	consumer.Logs
	came, may chan struct{}
}

func holding(t testing.TB, obey bool) *held {
	h := &held{came: make(chan struct{}), may: make(chan struct{})}
	var err error
	h.Logs, err = consumer.NewLogs(func(ctx context.Context, _ plog.Logs) error {
		h.came <- struct{}{}
		if !obey {
			ctx = context.WithoutCancel(ctx)
		}
		select {
		case <-h.may:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	require.NoError(t, err)
	return h
}

// send a request in the background; what came of it.
func (s *service) send(body string) <-chan string {
	done := make(chan string, 1)
	go func() {
		answer, err := s.client.Post(s.url+path, typeJSON, strings.NewReader(body))
		if err != nil {
			done <- "no answer"
			return
		}
		_ = answer.Body.Close()
		done <- answer.Status
	}()
	return done
}

func TestShutdownWaitsForRequestsAndAnswersThem(t *testing.T) {
	next := holding(t, true)
	s := serve(t, nil, next)
	done := s.send("{}")
	<-next.came
	ended := make(chan error, 1)
	go func() { ended <- s.receiver.Shutdown(context.Background()) }()
	require.Eventually(t, func() bool { _, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://")); return err != nil }, 5*time.Second, time.Millisecond)
	assert.Empty(t, ended, "it ended before the request")
	close(next.may)
	assert.Equal(t, "202 Accepted", <-done)
	require.NoError(t, <-ended)
}

// What is behind is shut down next: nothing may be on its way there any more.
func TestShutdownPastItsTimeCutsRequestsOffAndWaitsUntilNothingRuns(t *testing.T) {
	for name, obey := range map[string]bool{"a pipeline that hears of it": true, "one that does not": false} {
		t.Run(name, func(t *testing.T) {
			next := holding(t, obey)
			s := serve(t, nil, next)
			done := s.send("{}")
			<-next.came
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			ended := make(chan error, 1)
			go func() { ended <- s.receiver.Shutdown(ctx) }()
			assert.Equal(t, "no answer", <-done)
			if !obey {
				assert.Empty(t, ended, "it ended while the pipeline works")
				close(next.may)
			}
			require.ErrorIs(t, <-ended, context.Canceled)
			assert.Zero(t, s.receiver.budget.held.Load())
		})
	}
}

func TestAClientThatSendsForeverDoesNotHoldShutdownUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := createDefaultConfig().(*Config)
		tel := componenttest.NewTelemetry()
		e, err := newEvents(cfg, metadatatest.NewSettings(tel), consumertest.NewNop())
		require.NoError(t, err)
		e.server = &http.Server{Handler: e}
		e.limit(e.server)
		listener := pipes{conns: make(chan net.Conn)}
		e.serving.Go(func() { assert.ErrorIs(t, e.server.Serve(listener), http.ErrServerClosed) })
		client, server := net.Pipe()
		listener.conns <- server
		_, err = fmt.Fprintf(client, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n[", path)
		require.NoError(t, err)
		synctest.Wait()
		go func() { _, _ = io.Copy(io.Discard, client) }()
		start := time.Now()
		require.NoError(t, e.Shutdown(t.Context()))
		assert.LessOrEqual(t, time.Since(start), grace)
		require.NoError(t, client.Close())
		require.NoError(t, tel.Shutdown(t.Context()))
	})
}

// pipes is a listener for connections of a test.
type pipes struct{ conns chan net.Conn }

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p pipes) Close() error   { close(p.conns); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func TestConnectionsBeyondTheLimitAreClosed(t *testing.T) {
	s := serve(t, func(c *Config) { c.MaxConnections = 3 }, nil)
	open := func() net.Conn {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	var first net.Conn
	for i := range 3 {
		c := open()
		if i == 0 {
			first = c
		}
		require.Eventually(t, func() bool { return s.receiver.connections.Load() == int64(i+1) }, 5*time.Second, time.Millisecond)
	}
	_, err := open().Read(make([]byte, 1))
	require.Error(t, err)
	assert.NotErrorIs(t, err, context.DeadlineExceeded)
	require.Eventually(t, func() bool { return s.receiver.connections.Load() == 3 }, 5*time.Second, time.Millisecond)
	assert.Equal(t, map[string]int64{"connections": 1}, s.counted("refused_requests"))

	require.NoError(t, first.Close())
	require.Eventually(t, func() bool { return s.receiver.connections.Load() == 2 }, 5*time.Second, time.Millisecond)
	answer, _ := s.ask(http.MethodPost, path, strings.NewReader("[]"), "Content-Type", typeJSON)
	assert.Equal(t, http.StatusAccepted, answer.StatusCode)
	assert.True(t, answer.Close, "under pressure no connection is kept for later")
}

func TestHeadersAreLimited(t *testing.T) {
	s := serve(t, nil, nil)
	answer, _ := s.ask(http.MethodPost, path, strings.NewReader("[]"), "Content-Type", typeJSON, "Cookie", strings.Repeat("x", 8<<10))
	assert.Equal(t, http.StatusAccepted, answer.StatusCode)
	answer, _ = s.ask(http.MethodPost, path, strings.NewReader("[]"), "Content-Type", typeJSON, "Cookie", strings.Repeat("x", 64<<10))
	assert.Equal(t, http.StatusRequestHeaderFieldsTooLarge, answer.StatusCode)
}
