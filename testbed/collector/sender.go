package collector

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
)

// Sender sends OTLP over gRPC.
type Sender struct{ conn *grpc.ClientConn }

// NewSender sends to address until the test ends.
func NewSender(t testing.TB, address string, options ...grpc.DialOption) *Sender {
	t.Helper()
	conn, err := grpc.NewClient(address, append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &Sender{conn}
}

// NewPatientSender sends to a receiver that is down now and then: what is sent waits until it is back.
func NewPatientSender(t testing.TB, address string, options ...grpc.DialOption) *Sender {
	t.Helper()
	return NewSender(t, address, append(options, grpc.WithDefaultCallOptions(grpc.WaitForReady(true)), grpc.WithConnectParams(grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1.5, MaxDelay: 200 * time.Millisecond},
		MinConnectTimeout: time.Second,
	}))...)
}

// Logs sends a request; what the receiver refuses is an error, also if it is a part.
func (s *Sender) Logs(ctx context.Context, ld plog.Logs) error {
	response, err := plogotlp.NewGRPCClient(s.conn).Export(ctx, plogotlp.NewExportRequestFromLogs(ld))
	if err != nil {
		return err
	}
	return partial(response.PartialSuccess().RejectedLogRecords(), response.PartialSuccess().ErrorMessage())
}

// Traces is Logs for spans.
func (s *Sender) Traces(ctx context.Context, td ptrace.Traces) error {
	response, err := ptraceotlp.NewGRPCClient(s.conn).Export(ctx, ptraceotlp.NewExportRequestFromTraces(td))
	if err != nil {
		return err
	}
	return partial(response.PartialSuccess().RejectedSpans(), response.PartialSuccess().ErrorMessage())
}

// Metrics is Logs for data points.
func (s *Sender) Metrics(ctx context.Context, md pmetric.Metrics) error {
	response, err := pmetricotlp.NewGRPCClient(s.conn).Export(ctx, pmetricotlp.NewExportRequestFromMetrics(md))
	if err != nil {
		return err
	}
	return partial(response.PartialSuccess().RejectedDataPoints(), response.PartialSuccess().ErrorMessage())
}

func partial(rejected int64, message string) error {
	if rejected > 0 {
		return fmt.Errorf("%d were refused: %s", rejected, message)
	}
	return nil
}

// Methods of the three OTLP services.
const (
	LogsMethod    = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
	TracesMethod  = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
	MetricsMethod = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
)

// Raw sends an encoded request to a method.
func (s *Sender) Raw(ctx context.Context, method string, request []byte) error {
	return s.conn.Invoke(ctx, method, &request, new([]byte), grpc.ForceCodecV2(rawCodec{}), grpc.WaitForReady(true))
}
