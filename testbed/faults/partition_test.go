package faults

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
)

// The network between agents and gateway is gone, one agent is killed and one is stopped while it is, and then it is back.
func TestAPartitionLosesNothing(t *testing.T) {
	t.Parallel()
	first := chosenSeed()
	what := fmt.Sprintf("seed %d", first)
	f := startFleet(t, settings{clock: "event", lateness: time.Minute})
	between := collector.NewPorts()
	proxy := collector.NewProxy(t, between.Address(t, "proxy"), f.gateway.Ports.Address(t, "states"), first)
	for range 3 {
		f.addAgent(t, between, "proxy")
	}
	l := newLedger()
	clients := f.clients(t, first, 1, workload{records: 50, slots: 30}, l)
	w := startWatch(f.gateway.api, queries())
	t.Cleanup(w.end)
	start := time.Now().Add(-5 * time.Hour).Truncate(time.Hour)
	replay(t, clients, start, 10, 6)
	require.NoError(t, settled(f.gateway.api, l, queries()), what)

	proxy.Deaf(true)
	replay(t, clients, start.Add(10*time.Minute), 10, 6)
	f.agents[0].kill()
	f.agents[1].end(t)
	f.agents[0].start(t)
	f.agents[1].start(t)
	replay(t, clients, start.Add(20*time.Minute), 10, 6)
	proxy.Deaf(false)
	require.NoError(t, settled(f.gateway.api, l, queries()), what)
	require.NoError(t, w.found(), what)
}
