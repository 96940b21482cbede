package kafka_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
)

func TestWhatKafkaHoldsIsCountedOnce(t *testing.T) {
	f := newFleet(t, 3)
	f.send(50)
	assert.Equal(t, f.answered.Total, f.await(0).Total)
	assert.Equal(t, 3, f.list().Coverage.Reporting)

	for range *rounds { // partitions move, and move again
		f.under(func() {
			f.join()
			last := len(f.shards) - 1
			f.pause(3 * time.Second)
			f.shards[last].Stop(t)
			f.shards = f.shards[:last]
		})
	}
	assert.Equal(t, f.answered.Total, f.await(0).Total)
	f.report("a shard joins, and leaves")
}

func TestAShardThatIsKilledLosesNothingAndCountsTwiceWhatWasNotCommitted(t *testing.T) {
	f := newFleet(t, 2)
	f.send(40)
	f.await(0)
	for round := range *rounds {
		f.under(func() { f.killShard(round % 2) })
		f.await(0)
	}
	f.report("a shard is killed")
}

func TestABrokerThatIsKilledLosesNothing(t *testing.T) {
	f := newFleet(t, 2)
	f.send(40)
	f.await(0)
	for range *rounds {
		f.under(f.killBroker)
		f.await(0)
	}
	f.report("the broker is killed")
}

func TestAProducerThatIsKilledLosesNothing(t *testing.T) {
	f := newFleet(t, 2)
	for range *rounds {
		f.under(f.killProducer)
		f.await(0)
	}
	f.report("the producer is killed")
}

func TestAShardWithoutStorageLosesWhatItHadNotSent(t *testing.T) {
	const emit, onTheWay = 2 * time.Second, time.Second
	f := newFleet(t, 2, "{processors: {topk: {storage: null, emit_interval: 2s}}}")
	f.send(40)
	f.await(0)
	lost := uint64(0)
	for round := range *rounds {
		var killed time.Time
		f.under(func() {
			killed = time.Now()
			f.killShard(round % 2)
		})
		lost += f.between(killed.Add(-emit-onTheWay), killed)
		f.await(lost)
	}
	f.report("a shard without `storage:` is killed")
}

func TestAGatewayThatIsKilledLosesNothing(t *testing.T) {
	f := newFleet(t, 2)
	for range *rounds {
		f.under(f.killGateway)
		assert.Equal(t, f.answered.Total, f.await(0).Total)
	}
	f.report("the gateway is killed")
}

func TestListsGoThroughKafkaToReaders(t *testing.T) {
	f := newFleet(t, 1)
	f.broker.CreateTopic("topk_lists", 1)
	f.gateway.Stop(t)
	f.gateway = collector.Start(t, examples.Load(t, "examples/fleet/gateway.yaml", often, examples.Read(t, "examples/kafka/lists.yaml")), f.ports)
	f.send(20)
	f.await(0)
	ports := collector.NewPorts()
	ports.Share(t, "kafka", f.ports, "kafka")
	reader := collector.Start(t, examples.Load(t, "examples/kafka/reader.yaml"), ports)
	list := reader.AwaitTotal(t, f.answered.Total, "rule", "tenants", "window", "1h", "k", "100")
	for _, it := range list.Items {
		assert.Equal(t, f.answered.Weights[it.Key], it.Estimate)
	}
	unlisted := f.answered.Ranked()[120]
	assert.Equal(t, unlisted.Weight, reader.Count(t, unlisted.Key, "rule", "tenants", "window", "1h").Estimate, "also keys outside of the list")
}
