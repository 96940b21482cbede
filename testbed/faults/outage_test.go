package faults

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
)

// replay sends batches of event times to every client in turn, each of which must be answered.
func replay(t *testing.T, clients []*client, from time.Time, minutes, batches int) {
	t.Helper()
	for i := range minutes * batches {
		c := clients[i%len(clients)]
		b, ld := c.batchOf(from.Add(time.Duration(i) * time.Minute / time.Duration(batches)))
		sent, err := c.call(ld)
		require.NoError(t, err)
		c.ledger.attempted(b, sent, true, true)
	}
}

// The gateway is gone for 70 minutes of event time, of which every record was answered.
func TestAGatewayThatWasDownForAnHourHasEveryWindowRight(t *testing.T) {
	t.Parallel()
	first := chosenSeed()
	what := fmt.Sprintf("seed %d", first)
	f := startFleet(t, settings{clock: "event", lateness: time.Minute, agents: 2})
	l := newLedger()
	clients := f.clients(t, first, 1, workload{records: 50, slots: 50}, l)
	w := startWatch(f.gateway.api, queries())
	t.Cleanup(w.end)
	start := time.Now().Add(-5 * time.Hour).Truncate(time.Hour)

	replay(t, clients, start, 20, 6)
	require.NoError(t, settled(f.gateway.api, l, queries()), what)
	f.gateway.kill()
	replay(t, clients, start.Add(20*time.Minute), 70, 6)
	for _, agent := range f.agents {
		telemetry := agent.Telemetry(t)
		require.Greater(t, collector.Value(t, telemetry, "otelcol_processor_topk_finals_pending"), 60.0, "finals wait for the gateway")
	}
	f.gateway.start(t)
	require.NoError(t, settled(f.gateway.api, l, queries()), what)
	replay(t, clients, start.Add(90*time.Minute), 10, 6)
	require.NoError(t, settled(f.gateway.api, l, queries()), what)
	require.NoError(t, w.found(), what)
}
