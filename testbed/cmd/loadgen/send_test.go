package main

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"

	"github.com/otel-topk/collector/testbed/generator"
)

// sink counts what it is sent and calls enough after a number of requests.
type sink struct {
	logs, spans, requests atomic.Int64
	after                 int64
	enough                context.CancelFunc
}

func (s *sink) count(n *atomic.Int64, records int) {
	n.Add(int64(records))
	if s.requests.Add(1) == s.after {
		s.enough()
	}
}

type logSink struct {
	plogotlp.UnimplementedGRPCServer
	*sink
}

func (s *logSink) Export(_ context.Context, req plogotlp.ExportRequest) (plogotlp.ExportResponse, error) {
	s.count(&s.logs, req.Logs().LogRecordCount())
	return plogotlp.NewExportResponse(), nil
}

type spanSink struct {
	ptraceotlp.UnimplementedGRPCServer
	*sink
}

func (s *spanSink) Export(_ context.Context, req ptraceotlp.ExportRequest) (ptraceotlp.ExportResponse, error) {
	s.count(&s.spans, req.Traces().SpanCount())
	return ptraceotlp.NewExportResponse(), nil
}

func (s *sink) serve(t *testing.T) string {
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	plogotlp.RegisterGRPCServer(server, &logSink{sink: s})
	ptraceotlp.RegisterGRPCServer(server, &spanSink{sink: s})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

func TestSignalsAlternateAndEndpointsTakeTurns(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	first, second := &sink{}, &sink{after: 4, enough: cancel}
	opts, err := parse([]string{"-endpoint", first.serve(t) + "," + second.serve(t), "-signals", "logs,traces", "-rate", "1e6", "-batch", "7", "-keys", "10"})
	require.NoError(t, err)
	sent, err := run(ctx, opts)
	require.NoError(t, err)
	assert.Zero(t, sent.failed)
	assert.EqualValues(t, 14, second.logs.Load())
	assert.EqualValues(t, 14, second.spans.Load())
	assert.EqualValues(t, 14, first.logs.Load())
	assert.EqualValues(t, 14, first.spans.Load())
}

func TestAnEndpointThatRefusesIsCounted(t *testing.T) {
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	server := grpc.NewServer() // of no service
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	opts, err := parse([]string{"-endpoint", listener.Addr().String(), "-keys", "10", "-duration", "300ms"})
	require.NoError(t, err)
	sent, err := run(t.Context(), opts)
	require.NoError(t, err)
	assert.Zero(t, sent.sent)
	assert.Positive(t, sent.failed)
	assert.ErrorContains(t, sent.lastErr, "Unimplemented")
}

func TestBadFlagsAreNamed(t *testing.T) {
	for _, tc := range []struct{ arg, value, want string }{
		{"-signals", "metrics", "signals"},
		{"-rate", "0", "rate"},
		{"-rate", "NaN", "rate"},
		{"-batch", "-1", "batch"},
	} {
		_, err := parse([]string{tc.arg, tc.value})
		assert.ErrorContains(t, err, tc.want)
	}
	_, err := run(t.Context(), options{generator: generator.Config{Keys: 0, Regions: 1}})
	assert.ErrorContains(t, err, "keys")
}
