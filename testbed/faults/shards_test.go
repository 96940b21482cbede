package faults

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processortest"
	"go.yaml.in/yaml/v3"

	"github.com/otel-topk/collector/processor/topkprocessor"
	"github.com/otel-topk/collector/testbed/collector"
)

const shardConfig = `
shard: %s
clock: event
lateness: 2m
emit_interval: 100ms
gateways:
  - endpoint: %s
    timeout: 1s
    tls: {insecure: true}
rules:
%s
`

// shard is a topk processor in this process.
type shard struct {
	processor.Logs
	client *client
}

func startShard(t *testing.T, name, gateway string, seed uint64, l *ledger) *shard {
	t.Helper()
	var content map[string]any
	require.NoError(t, yaml.Unmarshal(fmt.Appendf(nil, shardConfig, name, gateway, rules), &content))
	factory := topkprocessor.NewFactory()
	config := factory.CreateDefaultConfig()
	require.NoError(t, confmap.NewFromStringMap(content).Unmarshal(config))
	p, err := factory.CreateLogs(t.Context(), processortest.NewNopSettings(factory.Type()), config, consumertest.NewNop())
	require.NoError(t, err)
	require.NoError(t, p.Start(t.Context(), componenttest.NewNopHost()))
	t.Cleanup(func() { require.NoError(t, p.Shutdown(t.Context())) })
	return &shard{Logs: p, client: newClient(t, gateway, name, seed, workload{records: 30, slots: 10}, l)}
}

// count a batch of an event time.
func (s *shard) count(t *testing.T, at time.Time) error {
	b, ld := s.client.batchOf(at)
	err := s.ConsumeLogs(t.Context(), ld)
	if err == nil {
		s.client.ledger.attempted(b, 1, true, true)
	}
	return err
}

func TestShardsBehindAFaultyProxyAreCountedExactly(t *testing.T) {
	t.Parallel()
	const shards, steps, step = 20, 80, 15 * time.Second
	first := chosenSeed()
	t.Logf("seed %d", first)
	f := startFleet(t, settings{clock: "event"})
	gateway, between := f.gateway.Ports.Address(t, "states"), collector.NewPorts().Address(t, "proxy")
	proxy := collector.NewProxy(t, between, gateway, first)
	l := newLedger()
	all := make([]*shard, shards)
	for i := range all {
		all[i] = startShard(t, fmt.Sprintf("s%d", i), between, first+uint64(i), l)
	}

	proxy.Faulty()
	start := time.Now().Add(-6 * time.Hour).Truncate(time.Minute)
	rng := rand.New(rand.NewPCG(first, 3))
	for i := range steps {
		var counting sync.WaitGroup
		failed := make([]error, shards)
		for j, s := range all {
			at := start.Add(time.Duration(i)*step + time.Duration(rng.Int64N(int64(step))))
			counting.Go(func() { failed[j] = s.count(t, at) })
		}
		counting.Wait()
		for _, err := range failed {
			require.NoError(t, err)
		}
		pause(rng, 50*time.Millisecond, 150*time.Millisecond)
	}
	proxy.Quiet(t.Context())
	t.Logf("of the requests %v", proxy.Counts())
	require.NoError(t, settled(f.gateway.api, l, queries()), "seed %d", first)
}
