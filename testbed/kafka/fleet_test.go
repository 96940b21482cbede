package kafka_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
	"github.com/otel-topk/collector/testbed/generator"
	"github.com/otel-topk/collector/testbed/kafka"
	"github.com/otel-topk/collector/testbed/oracle"
)

const (
	topic      = "otlp_logs"
	group      = "topk"
	partitions = 8
	perRequest = 200
	often      = "receivers: {trend: {publish_interval: 200ms}}"
	quick      = "{processors: {topk: {emit_interval: 200ms}}, receivers: {kafka: {session_timeout: 6s, heartbeat_interval: 1s}}}"
)

// fleet is a producer, a broker, shards and a gateway.
type fleet struct {
	testing.TB
	ports    *collector.Ports
	broker   *kafka.Broker
	gateway  *collector.Collector
	producer *collector.Collector
	shards   []*collector.Collector
	over     []string // the example of a shard
	to       *collector.Sender
	gen      *generator.Generator
	rng      *rand.Rand
	seed     uint64
	answered *oracle.Counts // in requests that were answered
	sent     *oracle.Counts // each as often as it was sent
	requests []time.Time    // that were answered
	open     *oracle.Counts // not committed when a shard or the broker was killed
}

// newFleet starts one; over is merged into the example of a shard.
func newFleet(t testing.TB, shards int, over ...string) *fleet {
	f := &fleet{TB: t, ports: collector.NewPorts(), over: over, seed: *seed}
	if f.seed == 0 {
		f.seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", f.seed)
	f.answered, f.sent, f.open = oracle.NewCounts(), oracle.NewCounts(), oracle.NewCounts()
	f.rng = rand.New(rand.NewPCG(f.seed, 1))
	var err error
	f.gen, err = generator.New(generator.Config{Seed: f.seed, Keys: 300, Exponent: 1, Regions: 3})
	require.NoError(t, err)
	f.broker = kafka.Start(t, f.ports.Address(t, "kafka"))
	f.broker.CreateTopic(topic, partitions)
	f.gateway = collector.Start(t, examples.Load(t, "examples/fleet/gateway.yaml", often), f.ports)
	ports := collector.NewPorts()
	ports.Share(t, "kafka", f.ports, "kafka")
	f.producer = collector.Start(t, examples.Load(t, "examples/kafka/producer.yaml"), ports)
	f.to = collector.NewPatientSender(t, ports.Address(t, "otlp"))
	for range shards {
		f.join()
	}
	return f
}

func shardName(i int) string { return fmt.Sprint("shard-", i) }

// join starts one more shard.
func (f *fleet) join() *collector.Collector {
	ports := collector.NewPorts()
	ports.Share(f, "kafka", f.ports, "kafka")
	ports.Share(f, "states", f.ports, "states")
	name := shardName(len(f.shards))
	over := append([]string{quick, fmt.Sprintf("{processors: {topk: {shard: %s}}, receivers: {kafka: {client_id: %[1]s}}}", name)}, f.over...)
	s := collector.Start(f, examples.Load(f, "examples/kafka/shard.yaml", over...), ports)
	f.shards = append(f.shards, s)
	return s
}

// send n requests. One that is not answered is sent again.
func (f *fleet) send(n int) {
	f.Helper()
	for range n {
		require.NoError(f, f.sendOne(f.Context()))
	}
}

// sendOne is send without the test's end where it fails.
func (f *fleet) sendOne(ctx context.Context) error {
	var records []generator.Record
	ld := f.gen.Logs(perRequest, time.Now(), func(r generator.Record) { records = append(records, r) })
	for {
		for _, r := range records {
			f.sent.Add(r.Tenant, 1)
		}
		err := f.to.Logs(ctx, ld)
		if err == nil {
			break
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
	for _, r := range records {
		f.answered.Add(r.Tenant, 1)
	}
	f.requests = append(f.requests, time.Now())
	return nil
}

// under load, do something.
func (f *fleet) under(do func()) {
	f.Helper()
	ctx, end := context.WithCancel(f.Context())
	var sending sync.WaitGroup
	defer sending.Wait()
	defer end()
	enough := make(chan struct{})
	var err error
	sending.Go(func() {
		for err == nil {
			select {
			case <-enough:
				return
			default:
				err = f.sendOne(ctx)
			}
		}
	})
	f.pause(time.Second)
	do()
	f.pause(time.Second)
	close(enough)
	sending.Wait()
	require.NoError(f, err)
}

// pause for some time, at most d.
func (f *fleet) pause(d time.Duration) { <-time.After(time.Duration(f.rng.Int64N(int64(d)))) }

// between are the records that were answered in some time.
func (f *fleet) between(from, to time.Time) (n uint64) {
	for _, at := range f.requests {
		if at.After(from) && at.Before(to) {
			n += perRequest
		}
	}
	return n
}

// mayRepeat notes messages that another shard will take, and that may have been counted.
func (f *fleet) mayRepeat(messages []*kgo.Record) {
	f.Helper()
	for _, message := range messages {
		logs, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(message.Value)
		require.NoError(f, err)
		for _, rl := range logs.ResourceLogs().All() {
			for _, lr := range rl.ScopeLogs().At(0).LogRecords().All() {
				tenant, _ := lr.Attributes().Get("tenant.id")
				f.open.Add(tenant.Str(), 1)
			}
		}
	}
}

// killShard and bring it back.
func (f *fleet) killShard(i int) {
	f.Helper()
	f.shards[i].Kill()
	f.mayRepeat(f.broker.Uncommitted(group, shardName(i), topic))
	f.pause(3 * time.Second)
	f.shards[i] = f.shards[i].Again(f)
	f.shards[i].AwaitReady(f)
}

// killBroker and bring it back.
func (f *fleet) killBroker() {
	f.Helper()
	from := make(map[int32]int64)
	for partition := range int32(partitions) {
		from[partition] = 0
	}
	maps.Copy(from, f.broker.Committed(group))
	f.broker.Kill()
	f.pause(time.Second)
	f.broker.Begin()
	f.mayRepeat(f.broker.Since(topic, from))
}

// killProducer and bring it back.
func (f *fleet) killProducer() {
	f.Helper()
	f.producer.Kill()
	f.pause(time.Second)
	f.producer = f.producer.Again(f)
	f.producer.AwaitReady(f)
}

// killGateway and bring it back.
func (f *fleet) killGateway() {
	f.Helper()
	f.gateway.Kill()
	f.pause(3 * time.Second)
	f.gateway = f.gateway.Again(f)
	f.gateway.AwaitReady(f)
}

// list of the gateway.
func (f *fleet) list() *oracle.List {
	return f.gateway.Find(f, "rule", "tenants", "window", "1h", "k", "100")
}

// await that all that was answered is counted, and nothing more comes, and hold it against the bounds: what is counted more
// than once was sent more than once, or was not committed. Of what was answered at most lost may be missing.
func (f *fleet) await(lost uint64) *oracle.List {
	f.Helper()
	var list *oracle.List
	least := f.answered.Total - min(lost, f.answered.Total)
	before, since := uint64(0), time.Now()
	collector.AwaitFor(f, time.Minute, func() bool {
		if list = f.list(); list == nil || list.Total < least || list.Total != before {
			since = time.Now()
		}
		if list != nil {
			before = list.Total
		}
		return time.Since(since) > 3*time.Second
	}, func() string { return fmt.Sprintf("%d were answered; %+v", f.answered.Total, list) })
	f.Logf("answered %d, sent %d, not committed %d, counted %d", f.answered.Total, f.sent.Total, f.open.Total, list.Total)
	assert.LessOrEqual(f, list.Total, f.sent.Total+f.open.Total)
	for _, it := range list.Items {
		assert.GreaterOrEqual(f, it.Estimate+lost, f.answered.Weights[it.Key])
		assert.LessOrEqual(f, it.Lower, f.sent.Weights[it.Key]+f.open.Weights[it.Key])
	}
	return list
}
