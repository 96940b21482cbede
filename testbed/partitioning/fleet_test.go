package partitioning

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processortest"
	"google.golang.org/grpc"

	"github.com/otel-topk/collector/internal/board"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/processor/topkprocessor"
)

// gateway takes states over OTLP into a board.
type gateway struct {
	plogotlp.UnimplementedGRPCServer
	mu    sync.Mutex
	board *board.Board
}

// startGateway and return its address.
func startGateway(t *testing.T) (*gateway, string) {
	g := &gateway{board: board.New(board.Config{
		Windows: []time.Duration{span}, Retain: 2 * time.Hour, PointQueries: board.PointQueriesOff,
		MaxRules: 10, MaxGroups: 1000, MaxEpochs: 100, KeepMinutes: 2 * time.Hour,
	})}
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	plogotlp.RegisterGRPCServer(server, g)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		server.Stop()
		serving.Wait()
	})
	return g, listener.Addr().String()
}

// Export takes a request.
func (g *gateway) Export(_ context.Context, r plogotlp.ExportRequest) (plogotlp.ExportResponse, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for m, err := range wire.Messages(r.Logs()) {
		if err != nil {
			return plogotlp.NewExportResponse(), err
		}
		if s, ok := m.(*wire.State); ok {
			if err := g.board.Accept(s, time.Now().UnixNano()); err != nil {
				return plogotlp.NewExportResponse(), err
			}
		}
	}
	return plogotlp.NewExportResponse(), nil
}

// lists of the groups.
func (g *gateway) lists() map[rule.Group]*wire.Snapshot {
	g.mu.Lock()
	defer g.mu.Unlock()
	lists := map[rule.Group]*wire.Snapshot{}
	for _, p := range g.board.Publish(time.Now().UnixNano()).Changed {
		lists[p.Snapshot.Group] = p.Snapshot
	}
	return lists
}

const tenants = `
rules:
  - name: tenants
    key: ['log.attributes["tenant.id"]']
    group_by: resource.attributes["cloud.region"]
    accuracy: {residents: %d}
`

// startProcessor of the tenants, with so many residents and more configuration.
func startProcessor(t *testing.T, next consumer.Logs, residents int, more string, args ...any) processor.Logs {
	retrieved, err := confmap.NewRetrievedFromYAML(fmt.Appendf(nil, tenants+more, append([]any{residents}, args...)...))
	require.NoError(t, err)
	conf, err := retrieved.AsConf()
	require.NoError(t, err)
	f := topkprocessor.NewFactory()
	cfg := f.CreateDefaultConfig()
	require.NoError(t, conf.Unmarshal(cfg))
	require.NoError(t, confmap.Validate(cfg))
	p, err := f.CreateLogs(t.Context(), processortest.NewNopSettings(f.Type()), cfg, next)
	require.NoError(t, err)
	require.NoError(t, p.Start(t.Context(), componenttest.NewNopHost()))
	return p
}

// startShards that send to a gateway.
func startShards(t *testing.T, address string, residents int) []processor.Logs {
	all := make([]processor.Logs, shards)
	for i := range all {
		all[i] = startProcessor(t, consumertest.NewNop(), residents, "gateways: [{endpoint: '%s'}]\nlateness: 1h\nshard: shard-%d\n", address, i)
	}
	return all
}
