package examples_test

import (
	"net"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
)

const soon = "receivers: {trend: {publish_interval: 200ms}}"

// fakeKafka is a broker in this process, with the topics of the examples. testbed/kafka has a real one.
func fakeKafka(t *testing.T, address string) {
	t.Helper()
	_, text, err := net.SplitHostPort(address)
	require.NoError(t, err)
	port, err := strconv.Atoi(text)
	require.NoError(t, err)
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(port), kfake.SeedTopics(8, "otlp_logs"), kfake.SeedTopics(1, "topk_lists"))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
}

func TestRecordsAndListsGoThroughKafka(t *testing.T) {
	ports := collector.NewPorts()
	fakeKafka(t, ports.Address(t, "kafka"))
	sharing := func(names ...string) *collector.Ports {
		p := collector.NewPorts()
		for _, name := range names {
			p.Share(t, name, ports, name)
		}
		return p
	}
	gateway := collector.Start(t, examples.Load(t, "examples/fleet/gateway.yaml", soon, examples.Read(t, "examples/kafka/lists.yaml")), ports)
	reader := collector.Start(t, examples.Load(t, "examples/kafka/reader.yaml"), sharing("kafka"))
	for _, shard := range []string{"a", "b"} {
		collector.Start(t, examples.Load(t, "examples/kafka/shard.yaml", often, "processors: {topk: {shard: "+shard+"}}"), sharing("kafka", "states"))
	}
	producer := collector.Start(t, examples.Load(t, "examples/kafka/producer.yaml"), sharing("kafka"))

	stream(t, collector.NewSender(t, producer.Ports.Address(t, "otlp")), newGenerator(t), 10)
	query := []string{"rule", "tenants", "window", "1h"}
	list := gateway.AwaitTotal(t, 10*perRequest, query...)
	assert.Equal(t, 2, list.Coverage.Reporting)
	assert.Equal(t, list.Items, reader.AwaitTotal(t, 10*perRequest, query...).Items)
}

func TestAGatewayIsRebuiltFromWhatKafkaHolds(t *testing.T) {
	ports := collector.NewPorts()
	fakeKafka(t, ports.Address(t, "kafka"))
	shard := collector.NewPorts()
	shard.Share(t, "kafka", ports, "kafka")
	shard.Share(t, "states", ports, "states")
	producer := collector.NewPorts()
	producer.Share(t, "kafka", ports, "kafka")
	collector.Start(t, examples.Load(t, "examples/kafka/producer.yaml"), producer)
	stream(t, collector.NewSender(t, producer.Address(t, "otlp")), newGenerator(t), 5)

	gateway := collector.Start(t, examples.Load(t, "examples/fleet/gateway.yaml", soon, examples.Read(t, "examples/kafka/rebuild-gateway.yaml")), ports)
	collector.Start(t, examples.Load(t, "examples/kafka/shard.yaml", often, examples.Read(t, "examples/kafka/rebuild-shard.yaml")), shard)
	gateway.AwaitTotal(t, 5*perRequest, "rule", "tenants", "window", "1h")
}
