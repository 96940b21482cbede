package topkprocessor

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/processor/processortest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otel-topk/collector/processor/topkprocessor/internal/metadata"
)

// otlpGateway is a gateway behind the real protocol.
type otlpGateway struct {
	plogotlp.UnimplementedGRPCServer
	fakeGateway
	refusal atomic.Pointer[status.Status]
}

func (g *otlpGateway) Export(ctx context.Context, r plogotlp.ExportRequest) (plogotlp.ExportResponse, error) {
	if s := g.refusal.Load(); s != nil {
		return plogotlp.NewExportResponse(), s.Err()
	}
	return plogotlp.NewExportResponse(), g.ConsumeLogs(ctx, r.Logs())
}

func listen(t *testing.T) (*otlpGateway, string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := &otlpGateway{}
	server := grpc.NewServer()
	plogotlp.RegisterGRPCServer(server, g)
	done := make(chan struct{})
	go func() {
		defer close(done)
		assert.NoError(t, server.Serve(l))
	}()
	t.Cleanup(func() {
		server.Stop()
		<-done
	})
	return g, l.Addr().String()
}

func TestStatesReachAGatewayOverOTLP(t *testing.T) {
	for _, tt := range []struct {
		name    string
		refusal *status.Status
	}{
		{"that answers", nil},
		{"that is down at first", status.New(codes.Unavailable, "down")},
		{"that refuses everything at first", status.New(codes.PermissionDenied, "no")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			gw, address := listen(t)
			gw.refusal.Store(tt.refusal)
			set, lines := observedSettings()
			cfg := mustParse(t, tenants+"emit_interval: 100ms\ngateways:\n  - endpoint: "+address+"\n")
			p, err := NewFactory().CreateLogs(t.Context(), set, cfg, consumertest.NewNop())
			require.NoError(t, err)
			require.NoError(t, p.Start(t.Context(), componenttest.NewNopHost()))
			stats := &p.(*logs).counter.senders[0].Stats
			require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "a", "b", "a")))
			if tt.refusal != nil {
				require.Eventually(t, stats.Down.Load, 10*time.Second, time.Millisecond)
				assert.Empty(t, gw.received())
				gw.refusal.Store(nil)
			}
			require.Eventually(t, func() bool { return gw.merged("tenants") != nil }, 10*time.Second, time.Millisecond)
			assert.EqualValues(t, 3, gw.merged("tenants").Total())
			stop(t, p)
			assert.Equal(t, 1, gw.finals())
			assert.Zero(t, stats.StatesRefused.Of("tenants"))
			for _, e := range lines.All() {
				assert.Empty(t, e.Stack, "one line, no stack")
			}
			if tt.refusal == nil {
				assert.Empty(t, warnings(lines))
			} else {
				assert.Len(t, warnings(lines), 1)
			}
		})
	}
}

func TestFailedStartStopsWhatItStarted(t *testing.T) {
	cfg := mustParse(t, tenants+"gateways:\n  - {}\n  - {endpoint: \"localhost:7071\", tls: {ca_file: missing.pem}}\n")
	p, err := NewFactory().CreateLogs(t.Context(), processortest.NewNopSettings(metadata.Type), cfg, consumertest.NewNop())
	require.NoError(t, err)
	err = p.Start(t.Context(), componenttest.NewNopHost())
	require.ErrorContains(t, err, "gateways[1]: ")
	stop(t, p)
}
