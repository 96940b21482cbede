package examples_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
	"github.com/otel-topk/collector/testbed/generator"
)

const perRequest = 500

func newGenerator(t *testing.T) *generator.Generator {
	t.Helper()
	gen, err := generator.New(generator.Config{Seed: 1, Keys: 1000, Exponent: 1.01, Regions: 3})
	require.NoError(t, err)
	return gen
}

// stream sends n requests of logs of now.
func stream(t *testing.T, to *collector.Sender, gen *generator.Generator, n int) {
	t.Helper()
	for range n {
		err := to.Logs(t.Context(), gen.Logs(perRequest, time.Now(), nil))
		require.NoError(t, err)
	}
}

func TestQuickstartAnswers(t *testing.T) {
	ports := collector.NewPorts()
	c := collector.Start(t, examples.Load(t, "examples/quickstart/config.yaml"), ports)
	stream(t, collector.NewSender(t, ports.Address(t, "otlp")), newGenerator(t), 4)

	list := c.AwaitTotal(t, 4*perRequest, "window", "5m", "k", "10")
	assert.Len(t, list.Items, 10)
	assert.Equal(t, generator.TenantName(0), list.Items[0].Key)
	assert.NotEmpty(t, c.Trending(t, "group", "us-east-1").Items)

	point := c.Count(t, list.Items[0].Key, "window", "5m")
	assert.Equal(t, list.Items[0].Estimate, point.Estimate)
	assert.Zero(t, c.Count(t, "no such tenant", "window", "5m").Lower)

	status, _ := collector.Get(t, ports.Address(t, "health"), "/")
	assert.Equal(t, http.StatusOK, status)
}

func TestFleetOfThreeAgentsAnswersAtTheGateway(t *testing.T) {
	ports := collector.NewPorts()
	gateway := collector.Start(t, examples.Load(t, "examples/fleet/gateway.yaml"), ports)
	t.Setenv("TOPK_SEED", "of this fleet")
	gen := newGenerator(t)
	for _, name := range []string{"a", "b", "c"} {
		agent := collector.NewPorts()
		agent.Share(t, "states", ports, "states")
		t.Setenv("TOPK_SHARD", name)
		collector.Start(t, examples.Load(t, "examples/fleet/agent.yaml"), agent)
		sender := collector.NewSender(t, agent.Address(t, "otlp"))
		stream(t, sender, gen, 2)
		err := sender.Traces(t.Context(), gen.Traces(perRequest, time.Now(), nil))
		require.NoError(t, err)
	}

	list := gateway.AwaitTotal(t, 6*perRequest, "rule", "tenants", "k", "10")
	assert.Equal(t, generator.TenantName(0), list.Items[0].Key)
	assert.Equal(t, 3, list.Coverage.Reporting)
	assert.Equal(t, []string{"short_window"}, list.PartialReasons, "the gateway is younger than the window, and nothing else is missing")
	bytes := gateway.Trending(t, "rule", "clients_by_bytes")
	assert.Greater(t, bytes.Total, uint64(6*perRequest))
	failing := gateway.Trending(t, "rule", "failing_endpoints")
	require.NotEmpty(t, failing.Items)
	assert.Equal(t, "shop", failing.Items[0].Parts[0])
}

func TestPrometheusGetsTheListsOnBothWays(t *testing.T) {
	ports := collector.NewPorts()
	c := collector.Start(t, examples.Load(t, "examples/prometheus/collector.yaml"), ports)
	stream(t, collector.NewSender(t, ports.Address(t, "otlp")), newGenerator(t), 2)
	c.AwaitTotal(t, 2*perRequest)

	for _, name := range []string{"api", "prometheus"} {
		var body string
		collector.Await(t, func() bool {
			_, body = collector.Get(t, ports.Address(t, name), "/metrics")
			return hasSeries(body, "topk_estimate", `rank="10"`)
		}, func() string { return name + " without a tenth item:\n" + body })
	}
}

// hasSeries says whether an exposition has a series of this name that holds label.
func hasSeries(exposition, name, label string) bool {
	for line := range strings.Lines(exposition) {
		if strings.HasPrefix(line, name+"{") && strings.Contains(line, label) {
			return true
		}
	}
	return false
}
