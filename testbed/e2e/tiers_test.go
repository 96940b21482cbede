package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
	"github.com/otel-topk/collector/testbed/generator"
	"github.com/otel-topk/collector/testbed/oracle"
)

// often makes what is told within seconds told at once.
const often = `
receivers: {trend: {publish_interval: 200ms}}
`

// tier starts a gateway of examples/tiers below another one.
func tier(t *testing.T, above *collector.Ports, shard, replicas string) (*collector.Collector, *collector.Ports) {
	ports := collector.NewPorts()
	ports.Share(t, "above", above, "states")
	over := fmt.Sprintf("receivers: {trend: {shard: %s, replica_set: %q}}", shard, replicas)
	return collector.Start(t, examples.Load(t, "examples/tiers/region.yaml", often, over), ports), ports
}

// agentOf some gateways starts an agent, and returns what sends to it.
func agentOf(t *testing.T, name string, gateways ...*collector.Ports) *collector.Sender {
	over := fmt.Sprintf("processors: {topk: {emit_interval: 200ms, shard: %s, gateways: [%s]}}", name, strings.Repeat("{},", len(gateways)))
	text, ports := examples.Load(t, "examples/fleet/agent.yaml", over), collector.NewPorts()
	for i, g := range gateways {
		place := fmt.Sprint("states", i)
		ports.Share(t, place, g, "states")
		text = strings.Replace(text, "<states>", "<"+place+">", 1)
	}
	collector.Start(t, text, ports)
	return collector.NewSender(t, ports.Address(t, "otlp"))
}

// tower is agents, the gateways of two regions, one of which has two, one over the first, and the world.
type tower struct {
	*testing.T
	gen       *generator.Generator
	counts    *oracle.Counts
	total     uint64
	world     *collector.Collector
	agents    []*collector.Sender
	continent *collector.Collector
	east      *collector.Collector
	west      [2]*collector.Collector
}

func newTower(t *testing.T) *tower {
	w := &tower{T: t, counts: oracle.NewCounts()}
	var err error
	w.gen, err = generator.New(generator.Config{Seed: 3, Keys: 300, Exponent: 1, Regions: 3})
	require.NoError(t, err)
	worldPorts := collector.NewPorts()
	w.world = collector.Start(t, examples.Load(t, "examples/fleet/gateway.yaml", often), worldPorts)
	continent, continentPorts := tier(t, worldPorts, "continent", "")
	east, eastPorts := tier(t, continentPorts, "east", "")
	west1, west1Ports := tier(t, worldPorts, "west-1", "west")
	west2, west2Ports := tier(t, worldPorts, "west-2", "west")
	w.continent, w.east, w.west = continent, east, [2]*collector.Collector{west1, west2}
	w.agents = []*collector.Sender{agentOf(t, "a", eastPorts), agentOf(t, "b", west1Ports, west2Ports)}
	return w
}

// send some records to each agent.
func (w *tower) send() {
	for _, to := range w.agents {
		ld := w.gen.Logs(500, time.Now(), func(r generator.Record) { w.counts.Add(r.Tenant, 1) })
		require.NoError(w, to.Logs(w.Context(), ld))
		w.total += 500
	}
}

// await the exact list at the world.
func (w *tower) await() *oracle.List {
	w.Helper()
	var list *oracle.List
	collector.AwaitFor(w, 45*time.Second, func() bool {
		list = w.world.Find(w, "rule", "tenants", "window", "1h", "k", "100")
		if list == nil {
			return false
		}
		require.LessOrEqual(w, list.Total, w.total, "nothing counts twice")
		return list.Total == w.total
	}, func() string { return fmt.Sprintf("%+v, want %d", list, w.total) })
	for i, it := range list.Items {
		require.Equal(w, w.counts.Weights[it.Key], it.Estimate, "item %d", i)
		require.Equal(w, it.Estimate, it.Lower)
	}
	return list
}

func TestTheWorldListsWhatTheAgentsOfAllRegionsCount(t *testing.T) {
	t.Parallel()
	w := newTower(t)
	for range 4 {
		w.send()
	}
	list := w.await()
	assert.Len(t, list.Items, 100)
	ranked := w.counts.Ranked()
	assert.Equal(t, ranked[0].Key, list.Items[0].Key)

	// A gateway of a region is killed, then the one above it, and one of two replicas for good: both halves go on.
	w.west[0].Kill()
	for _, middle := range []**collector.Collector{&w.east, &w.continent} {
		(*middle).Kill()
		for range 3 {
			w.send()
		}
		*middle = (*middle).Again(t)
		(*middle).AwaitReady(t)
		list = w.await()
	}
	collector.AwaitFor(t, 45*time.Second, func() bool {
		list = w.world.Trending(t, "rule", "tenants", "window", "1h", "k", "100")
		return list.Coverage.Silent > 0
	}, func() string { return fmt.Sprint(list.Coverage) })
	assert.Contains(t, list.PartialReasons, "silent_shards")
	assert.Equal(t, "west-1", list.Coverage.SilentShards[0].Shard)
	assert.Equal(t, w.total, list.Total)
	assert.Equal(t, 2, list.Coverage.Reporting, "agent a through two gateways, and agent b")
}

func TestALoopOfGatewaysCountsNothingTwice(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			ports := make([]*collector.Ports, n)
			for i := range ports {
				ports[i] = collector.NewPorts()
			}
			gateways := make([]*collector.Collector, n)
			for i := range gateways {
				ports[i].Share(t, "above", ports[(i+1)%n], "states")
				gateways[i] = collector.Start(t, examples.Load(t, "examples/tiers/region.yaml", often, fmt.Sprintf("receivers: {trend: {shard: g%d}}", i)), ports[i])
			}
			gen, err := generator.New(generator.Config{Seed: 3, Keys: 30, Regions: 1})
			require.NoError(t, err)
			to := agentOf(t, "a", ports[0])
			for range 3 {
				require.NoError(t, to.Logs(t.Context(), gen.Logs(100, time.Now(), nil)))
			}
			for _, g := range gateways {
				g.AwaitTotal(t, 300, "rule", "tenants", "window", "1h")
			}
			collector.AwaitFor(t, 30*time.Second, func() bool {
				return strings.Contains(gateways[0].Output(), "come back to it")
			}, func() string { return "no word of a loop" })
			for range 3 {
				for _, g := range gateways {
					assert.LessOrEqual(t, g.Trending(t, "rule", "tenants", "window", "1h").Total, uint64(300))
				}
			}
		})
	}
}
