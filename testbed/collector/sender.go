package collector

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Sender sends OTLP over gRPC.
type Sender struct{ conn *grpc.ClientConn }

// NewSender sends to address until the test ends.
func NewSender(t testing.TB, address string) *Sender {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &Sender{conn}
}

// Logs returns what the receiver says; it must not refuse a part silently.
func (s *Sender) Logs(ctx context.Context, ld plog.Logs) (plogotlp.ExportPartialSuccess, error) {
	response, err := plogotlp.NewGRPCClient(s.conn).Export(ctx, plogotlp.NewExportRequestFromLogs(ld))
	return response.PartialSuccess(), err
}

func (s *Sender) Traces(ctx context.Context, td ptrace.Traces) (ptraceotlp.ExportPartialSuccess, error) {
	response, err := ptraceotlp.NewGRPCClient(s.conn).Export(ctx, ptraceotlp.NewExportRequestFromTraces(td))
	return response.PartialSuccess(), err
}

func (s *Sender) Metrics(ctx context.Context, md pmetric.Metrics) (pmetricotlp.ExportPartialSuccess, error) {
	response, err := pmetricotlp.NewGRPCClient(s.conn).Export(ctx, pmetricotlp.NewExportRequestFromMetrics(md))
	return response.PartialSuccess(), err
}
