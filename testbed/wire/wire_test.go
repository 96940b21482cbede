package wire

import (
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/otel-topk/collector/internal/uplink"
	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/generator"
	"github.com/otel-topk/collector/testbed/oracle"
)

var (
	warm     = flag.Duration("warm", 0, "before anything is measured; lateness is 2m, so that from the fourth minute on each has its finals")
	duration = flag.Duration("duration", 12*time.Second, "that is measured")
	results  = flag.String("results", "", "`folder` to write wire.md to; empty: none")
)

const (
	batches = 10 // a second
	tenants = 100_000
)

// Of a shard: one rule, and the same states to two gateways, which differ in how they are compressed.
const shardConfig = `
receivers:
  otlp:
    protocols:
      grpc: {endpoint: <otlp>, max_recv_msg_size_mib: 16}
processors:
  topk:
    gateways:
      - endpoint: <zstd>
      - endpoint: <gzip>
        compression: gzip
    rules:
      - name: tenants
        key: ['log.attributes["tenant.id"]']
%s
exporters:
  nop:
service:
  pipelines:
    logs:
      receivers: [otlp]
      processors: [topk]
      exporters: [nop]
`

const gatewayConfig = `
receivers:
  trend:
    protocols:
      grpc: {endpoint: <states>}
exporters:
  topk:
    endpoint: <api>
service:
  pipelines:
    logs:
      receivers: [trend]
      exporters: [topk]
`

// shard is one that is measured.
type shard struct {
	*collector.Collector
	gateway    *collector.Collector
	to         *collector.Sender
	gen        *generator.Generator
	groups     int
	rate       int // records a second
	exact      *oracle.Counts
	zstd, gzip meter
	used       struct { // in the time that is measured
		records    uint64
		zstd, gzip traffic
	}
}

func startShard(t *testing.T, groups, rate int) *shard {
	t.Helper()
	s := &shard{groups: groups, rate: rate, exact: oracle.NewCounts()}
	var err error
	s.gen, err = generator.New(generator.Config{Seed: 1, Keys: tenants, Exponent: 1.01, Regions: groups})
	require.NoError(t, err)
	s.gateway = collector.Start(t, gatewayConfig, collector.NewPorts())
	ports, states := collector.NewPorts(), s.gateway.Ports.Address(t, "states")
	collector.NewProxy(t, ports.Address(t, "zstd"), states, 1, grpc.StatsHandler(&s.zstd))
	collector.NewProxy(t, ports.Address(t, "gzip"), states, 1, grpc.StatsHandler(&s.gzip))
	grouped := ""
	if groups > 1 {
		grouped = `        group_by: 'resource.attributes["cloud.region"]'`
	}
	s.Collector = collector.Start(t, fmt.Sprintf(shardConfig, grouped), ports)
	s.to = collector.NewSender(t, ports.Address(t, "otlp"))
	return s
}

// feed it until the end of what is measured, and take what went meanwhile.
func (s *shard) feed(t *testing.T, begin, end time.Time) error {
	var before uint64
	var zstd, gzip traffic
	measured := false
	for due := time.Now(); time.Now().Before(end); due = due.Add(time.Second / batches) { // what was missed is caught up on
		<-time.After(time.Until(due))
		if !measured && !time.Now().Before(begin) {
			before, zstd, gzip, measured = s.exact.Records, s.zstd.read(), s.gzip.read(), true
		}
		count := func(r generator.Record) { s.exact.Add(r.Tenant, 1) }
		if err := s.to.Logs(t.Context(), s.gen.Logs(s.rate/batches, time.Now(), count)); err != nil {
			return err
		}
	}
	s.used.records = s.exact.Records - before
	s.used.zstd, s.used.gzip = s.zstd.read().since(zstd), s.gzip.read().since(gzip)
	return nil
}

func TestWhatAShardSendsIsCompressedAndBounded(t *testing.T) {
	var shards []*shard
	for _, groups := range []int{1, 50, 300} {
		for _, rate := range []int{1000, 10_000} {
			shards = append(shards, startShard(t, groups, rate))
		}
	}
	begin := time.Now().Add(*warm)
	if *warm > 0 {
		begin = begin.Truncate(time.Minute).Add(time.Minute) // whole minutes
	}
	errs := make([]error, len(shards))
	var feeding sync.WaitGroup
	for i, s := range shards {
		feeding.Go(func() { errs[i] = s.feed(t, begin, begin.Add(*duration)) })
	}
	feeding.Wait()
	for i, s := range shards {
		require.NoError(t, errs[i])
		s.check(t)
	}
	report(t, shards)
}

// check that what went is bounded, and that it says all: the list at the gateway has each record that was sent.
func (s *shard) check(t *testing.T) {
	t.Helper()
	name := fmt.Sprintf("%d groups, %d records a second", s.groups, s.rate)
	for _, used := range []traffic{s.used.zstd, s.used.gzip} {
		assert.Positive(t, used.requests, name)
		assert.Zero(t, used.unread, name)
		assert.Less(t, used.sent, used.plain, name)
	}
	list := s.gateway.AwaitTotal(t, s.exact.Total, "rule", "tenants", "window", "1h")
	assert.NoError(t, list.Law(s.exact, 10), name)
	assert.LessOrEqual(t, s.used.zstd.plain-s.used.zstd.final, s.most(), "%s: open states, before compression", name)
	if *warm > 0 {
		assert.Positive(t, s.used.zstd.final, "%s: final states", name)
	}
}

// most bytes of open states before compression: at OpenRate, or where one emission of all groups takes more than that allows in MaxStretch,
// that emission each MaxStretch; and one more.
func (s *shard) most() int64 {
	stretch := int64(uplink.MaxStretch / time.Second)
	rate := max(uplink.OpenRate, int64(s.groups)*s.zstd.largest.Load()/stretch)
	return rate * (int64(*duration/time.Second) + stretch)
}
