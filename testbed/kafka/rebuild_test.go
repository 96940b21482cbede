package kafka_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
	"github.com/otel-topk/collector/testbed/generator"
)

func TestALostGatewayIsRebuiltFromTheTopic(t *testing.T) {
	f := newFleet(t, 2)
	for minute := range 50 { // older than any shard would take by the wall clock
		f.sendOf(time.Now().Add(time.Duration(minute-51) * time.Minute))
	}
	f.send(20)
	f.gateway.Kill() // and its storage is gone, and with it what shards had sent
	for _, s := range f.shards {
		s.Kill()
	}
	f.shards = nil

	gateway := examples.Load(t, "examples/fleet/gateway.yaml", often, examples.Read(t, "examples/kafka/rebuild-gateway.yaml"))
	f.gateway = collector.Start(t, gateway, f.ports)
	f.over = []string{examples.Read(t, "examples/kafka/rebuild-shard.yaml"), "receivers: {kafka: {group_id: topk-2}}"}
	f.join()
	f.join()
	f.awaitExact()
	f.send(20)
	f.awaitExact()

	byTheClock := func(c *collector.Collector) *collector.Collector {
		c.Stop(t)
		config := c.Config(t)
		require.Contains(t, config, "clock: event")
		c.Configure(t, strings.Replace(config, "clock: event", "clock: wall", 1))
		c = c.Again(t)
		c.AwaitReady(t)
		return c
	}
	for i := range f.shards {
		f.shards[i] = byTheClock(f.shards[i])
	}
	f.gateway = byTheClock(f.gateway)
	f.send(20)
	f.awaitExact()
}

// sendOf sends a request of records of some time.
func (f *fleet) sendOf(at time.Time) {
	ld := f.gen.Logs(perRequest, at, func(r generator.Record) {
		f.sent.Add(r.Tenant, 1)
		f.answered.Add(r.Tenant, 1)
	})
	require.NoError(f, f.to.Logs(f.Context(), ld))
}

// awaitExact waits for the list of an hour to hold all that was answered, once.
func (f *fleet) awaitExact() {
	f.Helper()
	list := f.await(0)
	assert.Equal(f, f.answered.Total, list.Total)
	assert.NoError(f, list.Law(f.answered, 100))
	assert.NoError(f, list.Same(f.answered, 100))
}
