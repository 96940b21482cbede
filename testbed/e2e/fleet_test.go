package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/otel-topk/collector/testbed/collector"
)

const (
	otlpReceiver = `
receivers:
  otlp:
    protocols:
      grpc:
        endpoint: <otlp>
        max_recv_msg_size_mib: 16
`
	trendReceiver = `
  trend:
    protocols:
      grpc:
        endpoint: <states>
    clock: %s
    publish_interval: 100ms
    windows: [1m, 5m, 1h, 24h]
    point_queries: all
`
	topkProcessor = `
processors:
  topk:
    clock: %s
    emit_interval: 100ms
    gateways:
      - endpoint: <states>
    rules:
%s
`
	nopExporter = `
exporters:
  nop:
`
	topkExporter = `
  topk:
    endpoint: <api>
`
	countingPipeline = `
service:
  pipelines:
    %s:
      receivers: [otlp]
      processors: [topk]
      exporters: [nop]
`
	listPipeline = `
    logs/lists:
      receivers: [trend]
      exporters: [topk]
`
)

// A deployment is collectors that count, and the one that answers for them.
type deployment struct {
	answers *collector.Collector
	shards  []*collector.Collector
	into    []*collector.Sender // the shards
}

// singleConfig is of one collector that does both. The rules are YAML to stand under `rules:`.
func singleConfig(clock, signal, rules string) string {
	return otlpReceiver + fmt.Sprintf(trendReceiver, clock) + fmt.Sprintf(topkProcessor, clock, rules) +
		nopExporter + topkExporter + fmt.Sprintf(countingPipeline, signal) + listPipeline
}

func startSingle(t *testing.T, clock, signal, rules string) *deployment {
	t.Helper()
	ports := collector.NewPorts()
	c := collector.Start(t, singleConfig(clock, signal, rules), ports)
	awaitGateway(t, c)
	return &deployment{c, []*collector.Collector{c}, []*collector.Sender{collector.NewSender(t, ports.Address(t, "otlp"))}}
}

// awaitGateway waits until the gateway of a shard has answered once.
func awaitGateway(t *testing.T, c *collector.Collector) {
	t.Helper()
	collector.Await(t, func() bool {
		return strings.Contains(telemetry(t, c, "otelcol_processor_topk_requests"), `outcome="answered"`)
	},
		func() string { return "a shard whose gateway never answered" })
}

func gatewayConfig(clock string) string {
	return "\nreceivers:" + fmt.Sprintf(trendReceiver, clock) + "\nexporters:" + topkExporter + "\nservice:\n  pipelines:" + listPipeline
}

// startGateway is a collector that answers for shards, of which there are none yet.
func startGateway(t *testing.T, clock string) *deployment {
	t.Helper()
	return &deployment{answers: collector.Start(t, gatewayConfig(clock), collector.NewPorts())}
}

// addShard starts another collector that counts for the gateway.
func (d *deployment) addShard(t *testing.T, clock, signal, rules string) {
	t.Helper()
	ports := collector.NewPorts()
	ports.Share(t, "states", d.answers.Ports, "states")
	config := otlpReceiver + fmt.Sprintf(topkProcessor, clock, rules) + nopExporter + fmt.Sprintf(countingPipeline, signal)
	c := collector.Start(t, config, ports)
	awaitGateway(t, c)
	d.shards = append(d.shards, c)
	d.into = append(d.into, collector.NewSender(t, ports.Address(t, "otlp")))
}

// startFleet is n shards and a gateway.
func startFleet(t *testing.T, n int, clock, signal, rules string) *deployment {
	t.Helper()
	d := startGateway(t, clock)
	for range n {
		d.addShard(t, clock, signal, rules)
	}
	return d
}
