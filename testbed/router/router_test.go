// Package router starts examples/partition/router.yaml, for which bin/otelcol-topk lacks an exporter.
package router

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
	"github.com/otel-topk/collector/testbed/generator"
	"github.com/otel-topk/collector/testbed/oracle"
)

const perRequest = 500

// The hot tenant is known from the gateway's list, which has it from the shards.
func TestARouterDealsTheRecordsOfAHotTenantToAllShards(t *testing.T) {
	const often, soon = "processors: {topk: {emit_interval: 200ms}}", "receivers: {trend: {publish_interval: 200ms}}"
	ports := collector.NewPorts()
	gateway := collector.Start(t, examples.Load(t, "examples/fleet/gateway.yaml", soon), ports)
	of := collector.NewPorts()
	of.Share(t, "api", ports, "api")
	var agents []*collector.Collector
	for _, name := range []string{"a", "b"} {
		shard := collector.NewPorts()
		shard.Share(t, "states", ports, "states")
		of.Share(t, "shard_"+name, shard, "otlp")
		agents = append(agents, collector.Start(t, examples.Load(t, "examples/fleet/agent.yaml", often, "processors: {topk: {shard: "+name+"}}"), shard))
	}
	router := collector.StartBinary(t, "otelcol-router", examples.Load(t, "examples/partition/router.yaml",
		"processors: {topk: {partition: {lists: {interval: 1s}}}}"), of)

	gen, err := generator.New(generator.Config{Seed: 1, Keys: 1000, Exponent: 1, Regions: 3})
	require.NoError(t, err)
	gen.Surge(500, 0.9)
	sender, exact := collector.NewSender(t, of.Address(t, "otlp")), oracle.NewCounts()
	send := func() {
		require.NoError(t, sender.Logs(t.Context(), gen.Logs(perRequest, time.Now(), func(r generator.Record) { exact.Add(r.Tenant, 1) })))
	}
	send() // whole, to one shard: by it the tenant becomes known
	hot := func() bool { return collector.Value(t, router.Telemetry(t), "otelcol_processor_topk_hot_keys") > 0 }
	collector.Await(t, hot, func() string { return "no tenant is hot" })
	for range 20 {
		send()
	}
	list := gateway.AwaitTotal(t, exact.Total, "rule", "tenants", "window", "1h", "k", "10")
	assert.NoError(t, list.Same(exact, 10))
	assert.Equal(t, 2, list.Coverage.Reporting)
	for i, agent := range agents {
		counted := collector.Value(t, agent.Telemetry(t), `otelcol_processor_topk_records_counted{`)
		assert.Less(t, counted, 0.9*float64(exact.Total), "shard %d has not all of the hot tenant", i)
	}
}
