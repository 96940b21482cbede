package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/oracle"
)

const agentConfig = `
extensions:
  file_storage:
    directory: %s
receivers:
  otlp:
    protocols:
      grpc:
        endpoint: <otlp>
        max_recv_msg_size_mib: 64
processors:
  topk:
    storage: file_storage
    shard: %s
    clock: %s
    lateness: %v
    emit_interval: 100ms
    gateways:
      - endpoint: <states>
    rules:
%s
exporters:
  nop:
service:
  extensions: [file_storage]
  pipelines:
    logs:
      receivers: [otlp]
      processors: [topk]
      exporters: [nop]
`

const gatewayConfig = `
extensions:
  file_storage:
    directory: %s
receivers:
  trend:
    storage: file_storage
    protocols:
      grpc:
        endpoint: <states>
    clock: %s
    publish_interval: 200ms
    windows: [1m, 5m, 1h]
    point_queries: all
exporters:
  topk:
    storage: file_storage
    endpoint: <api>
service:
  extensions: [file_storage]
  pipelines:
    logs:
      receivers: [trend]
      exporters: [topk]
`

// member is a collector of a fleet and the folder it stores in.
type member struct {
	*collector.Collector
	name   string
	folder string
	api    *api // that the member serves; nil: an agent
	kills  int
}

// fleet is agents and their gateway.
type fleet struct {
	gateway *member
	agents  []*member
}

// settings of a fleet.
type settings struct {
	clock    string
	lateness time.Duration
	rules    string
	agents   int
}

func startFleet(t *testing.T, s settings) *fleet {
	t.Helper()
	dir := t.TempDir()
	folder := func(name string) string {
		f := filepath.Join(dir, name)
		require.NoError(t, os.Mkdir(f, 0o700))
		return f
	}
	f := &fleet{}
	ports, stored := collector.NewPorts(), folder("gateway")
	f.gateway = &member{
		Collector: collector.Start(t, fmt.Sprintf(gatewayConfig, stored, s.clock), ports),
		name:      "gateway", folder: stored, api: newAPI(ports.Address(t, "api")),
	}
	f.gateway.api.rises()
	for i := range s.agents {
		name := fmt.Sprintf("agent-%d", i+1)
		ports, stored := collector.NewPorts(), folder(name)
		ports.Share(t, "states", f.gateway.Ports, "states")
		config := fmt.Sprintf(agentConfig, stored, name, s.clock, s.lateness, s.rules)
		f.agents = append(f.agents, &member{Collector: collector.Start(t, config, ports), name: name, folder: stored})
	}
	return f
}

// kill -9.
func (m *member) kill() {
	if m.api != nil {
		m.api.falls()
	}
	m.Kill()
	m.kills++
}

// restart from what is stored; one time of four the member is killed once more while it starts.
func (m *member) restart(t *testing.T, rng *rand.Rand) {
	t.Helper()
	m.Collector = m.Again(t)
	if rng.IntN(4) == 0 {
		pause(rng, 0, 300*time.Millisecond)
		m.Kill()
		m.kills++
		m.Collector = m.Again(t)
	}
	m.AwaitReady(t)
	if m.api != nil {
		m.api.rises()
	}
}

// pause for a random time.
func pause(rng *rand.Rand, low, high time.Duration) {
	<-time.After(low + time.Duration(rng.Int64N(int64(high-low))))
}

// queries for all lists that the records of clients make.
func queries() []query {
	var list []query
	for _, window := range []string{"1m", "5m", "1h"} {
		for _, rule := range ruleNames {
			list = append(list, query{rule, window, oracle.Global})
		}
		for _, region := range []string{"us-east-1", "eu-west-1", "us-west-2"} {
			list = append(list, query{"tenants", window, oracle.Named(region)})
		}
	}
	return list
}
