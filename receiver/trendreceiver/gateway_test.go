package trendreceiver

import (
	"bytes"
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// gateway is a receiver as a collector holds it.
type gateway struct {
	testing.TB
	cfg      *Config
	observed observed
	host     component.Host
	parts    []component.Component // by pipeline
	conn     *grpc.ClientConn
}

func newGateway(t testing.TB, change func(*Config)) *gateway {
	cfg := createDefaultConfig().(*Config)
	cfg.Protocols.GRPC.Get().NetAddr.Endpoint = "localhost:0"
	cfg.Protocols.HTTP.Get().ServerConfig.NetAddr.Endpoint = "localhost:0"
	if change != nil {
		change(cfg)
	}
	g := &gateway{TB: t, cfg: cfg, observed: observe(t), host: componenttest.NewNopHost()}
	t.Cleanup(func() { g.shutdown(context.Background()) })
	return g
}

var factory = NewFactory()

func (g *gateway) logs(next consumer.Logs) {
	r, err := factory.CreateLogs(g.Context(), g.observed.Settings, g.cfg, next)
	require.NoError(g, err)
	g.parts = append(g.parts, r)
}

func (g *gateway) metrics(next consumer.Metrics) {
	r, err := factory.CreateMetrics(g.Context(), g.observed.Settings, g.cfg, next)
	require.NoError(g, err)
	g.parts = append(g.parts, r)
}

// trend is the receiver behind all pipelines.
func (g *gateway) trend() *trend { return g.parts[0].(*instance).trend }

func (g *gateway) start() {
	for _, p := range g.parts {
		require.NoError(g, p.Start(g.Context(), g.host))
	}
}

func (g *gateway) shutdown(ctx context.Context) {
	if g.conn != nil {
		require.NoError(g, g.conn.Close())
		g.conn = nil
	}
	for _, p := range g.parts {
		require.NoError(g, p.Shutdown(ctx))
	}
}

// endpoint is the one that a listener said it has.
func (g *gateway) endpoint(said string) string {
	lines := g.observed.logs.FilterMessage(said).All()
	require.Len(g, lines, 1)
	return lines[0].ContextMap()["endpoint"].(string)
}

func (g *gateway) dial() *grpc.ClientConn {
	if g.conn == nil {
		g.conn = g.connect()
	}
	return g.conn
}

// connect makes a connection of its own.
func (g *gateway) connect() *grpc.ClientConn {
	conn, err := grpc.NewClient(g.endpoint("Starting GRPC server"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(g, err)
	return conn
}

func (g *gateway) send(ld plog.Logs) error {
	_, err := plogotlp.NewGRPCClient(g.dial()).Export(g.Context(), plogotlp.NewExportRequestFromLogs(ld))
	return err
}

// deliver sends until it is answered, as a shard does.
func (g *gateway) deliver(ld plog.Logs) {
	require.EventuallyWithT(g, func(c *assert.CollectT) { assert.NoError(c, g.send(ld)) }, 10*time.Second, 10*time.Millisecond)
}

// answer over HTTP.
type answer struct {
	code       int
	retryAfter string
}

func (g *gateway) post(ld plog.Logs) answer {
	body, err := plogotlp.NewExportRequestFromLogs(ld).MarshalProto()
	require.NoError(g, err)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Post("http://"+g.endpoint("Starting HTTP server")+"/v1/logs", "application/x-protobuf", bytes.NewReader(body))
	require.NoError(g, err)
	require.NoError(g, resp.Body.Close())
	return answer{resp.StatusCode, resp.Header.Get("Retry-After")}
}

// metric of the receiver, summed up.
func (g *gateway) metric(name string) int64 {
	m, err := g.observed.telemetry.GetMetric("otelcol_receiver_trend_" + name)
	require.NoError(g, err)
	return sum(m)
}

// publication waits for one that begins after this call.
func (g *gateway) publication() {
	count := func() uint64 {
		m, err := g.observed.telemetry.GetMetric("otelcol_receiver_trend_publish_duration")
		if err != nil {
			return 0 // there was none
		}
		return m.Data.(metricdata.Histogram[float64]).DataPoints[0].Count
	}
	before := count()
	require.Eventually(g, func() bool { return count() > before+1 }, 10*time.Second, time.Millisecond)
}
