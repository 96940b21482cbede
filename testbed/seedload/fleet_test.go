package seedload

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
	"github.com/otel-topk/collector/testbed/kafka"
	"github.com/otel-topk/collector/testbed/redis"
)

const (
	topic      = "otlp_logs"
	group      = "topk" // of the shards
	partitions = 8
)

// rules are that of the example, and one that counts marked records.
const rules = `
processors:
  topk:
    shard: %[1]s
    gateways: [{}, {}]
    rules:
      - name: tenants
        key: ['log.attributes["tenant.id"]']
        group_by: resource.attributes["cloud.region"]
      - name: markers
        key: ['log.attributes["marker.id"]']
        k: 500
receivers: {kafka: {client_id: %[1]s}}
`

// fleet is all processes but the load's: examples/kafka, examples/fleet and examples/redis, as they are there.
type fleet struct {
	testing.TB
	broker    *kafka.Broker
	redis     *redis.Server
	producers [4]*collector.Collector
	shards    [4]*collector.Collector
	gateways  [2]*collector.Collector
	readers   [2]*collector.Collector
	senders   [4]*collector.Sender     // to the producers
	used      map[string]time.Duration // CPU time by kind of process, of those that have ended
}

func startFleet(t testing.TB) *fleet {
	f := &fleet{TB: t, used: make(map[string]time.Duration)}
	shared := collector.NewPorts()
	ports := func(names ...string) *collector.Ports {
		p := collector.NewPorts()
		for _, name := range names {
			p.Share(t, name, shared, name)
		}
		return p
	}
	f.broker = kafka.Start(t, shared.Address(t, "kafka"))
	f.broker.CreateTopic(topic, partitions)
	f.redis = redis.Start(t, shared.Address(t, "redis"))
	for i := range f.gateways {
		p := ports("redis", fmt.Sprint("states", i))
		p.Share(t, "states", shared, fmt.Sprint("states", i))
		f.gateways[i] = collector.Start(t, examples.Load(t, "examples/fleet/gateway.yaml", examples.Read(t, "examples/redis/gateway.yaml")), p)
	}
	for i := range f.readers {
		f.readers[i] = collector.Start(t, examples.Load(t, "examples/redis/reader.yaml"), ports("redis"))
	}
	for i := range f.shards {
		config := examples.Load(t, "examples/kafka/shard.yaml", fmt.Sprintf(rules, shardName(i)))
		for gateway := range f.gateways {
			config = strings.Replace(config, "<states>", fmt.Sprintf("<states%d>", gateway), 1)
		}
		f.shards[i] = collector.Start(t, config, ports("kafka", "states0", "states1"))
	}
	for i := range f.producers {
		p := ports("kafka")
		f.producers[i] = collector.Start(t, examples.Load(t, "examples/kafka/producer.yaml"), p)
		f.senders[i] = collector.NewPatientSender(t, p.Address(t, "otlp"))
	}
	return f
}

func shardName(i int) string { return fmt.Sprint("shard-", i) }

// kill a process of a kind, as kill -9 does.
func (f *fleet) kill(kind string, c *collector.Collector) {
	c.Kill()
	f.used[kind] += c.CPU()
}

// revive starts a process that was killed, and returns when it is ready.
func (f *fleet) revive(c **collector.Collector) {
	*c = (*c).Again(f)
	(*c).AwaitReady(f)
}

// stop all, so that it is known what CPU time they used.
func (f *fleet) stop() {
	for _, some := range []struct {
		kind      string
		processes []*collector.Collector
	}{
		{"producers", f.producers[:]}, {"shards", f.shards[:]}, {"gateways", f.gateways[:]}, {"readers", f.readers[:]},
	} {
		for _, c := range some.processes {
			c.Stop(f)
			f.used[some.kind] += c.CPU()
		}
	}
	f.broker.Kill()
	f.redis.Kill()
	f.used["Kafka broker"], f.used["Redis"] = f.broker.CPU(), f.redis.CPU()
}

// pairs are what a load balancer stands before: the two readers, and the two gateways.
func (f *fleet) pairs() []*pair {
	pairs := []*pair{newPair(), newPair()}
	for i := range 2 {
		pairs[0].addresses[i] = f.readers[i].Ports.Address(f, "api")
		pairs[1].addresses[i] = f.gateways[i].Ports.Address(f, "api")
	}
	return pairs
}

func newPair() *pair { return &pair{client: &http.Client{Timeout: 2 * time.Second}} }

// awaitGroup waits until each shard has its partitions.
func (f *fleet) awaitGroup() {
	f.Helper()
	collector.AwaitFor(f, time.Minute, func() bool {
		for i := range f.shards {
			if len(f.broker.Assigned(group, shardName(i), topic)) != partitions/len(f.shards) {
				return false
			}
		}
		return true
	}, func() string { return "a shard without its part of the partitions" })
}
