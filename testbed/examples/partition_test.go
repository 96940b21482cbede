package examples_test

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

// holds sends requests of which one tenant has half, and holds the list of the gateway against exact counts.
func holds(t *testing.T, gateway *collector.Collector, sender *collector.Sender, requests int) {
	t.Helper()
	gen := newGenerator(t)
	gen.Surge(500, 0.5)
	exact := oracle.NewCounts()
	for range requests {
		require.NoError(t, sender.Logs(t.Context(), gen.Logs(perRequest, time.Now(), func(r generator.Record) { exact.Add(r.Tenant, 1) })))
	}
	list := gateway.AwaitTotal(t, exact.Total, "rule", "tenants", "window", "1h", "k", "10")
	assert.NoError(t, list.Same(exact, 10))
	assert.Equal(t, 2, list.Coverage.Reporting, "both shards")
}

func TestAProducerDealsTheRecordsOfAHotTenantToSeveralPartitions(t *testing.T) {
	ports := collector.NewPorts()
	fakeKafka(t, ports.Address(t, "kafka"))
	gateway := collector.Start(t, examples.Load(t, "examples/fleet/gateway.yaml", soon), ports)
	for _, shard := range []string{"a", "b"} {
		of := collector.NewPorts()
		of.Share(t, "kafka", ports, "kafka")
		of.Share(t, "states", ports, "states")
		collector.Start(t, examples.Load(t, "examples/kafka/shard.yaml", often, "processors: {topk: {shard: "+shard+"}}"), of)
	}
	of := collector.NewPorts()
	of.Share(t, "kafka", ports, "kafka")
	producer := collector.Start(t, examples.Load(t, "examples/partition/producer.yaml"), of)
	holds(t, gateway, collector.NewSender(t, of.Address(t, "otlp")), 10)
	assert.EqualValues(t, 1, collector.Value(t, producer.Telemetry(t), "otelcol_processor_topk_hot_keys"))
}
