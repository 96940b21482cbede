// Package shards sends one gateway the states of very many simulated shards, and measures what it takes.
package shards

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
)

var (
	shards   = flag.Int("shards", 100, "that send to the gateway")
	duration = flag.Duration("duration", 20*time.Second, "of the load")
	rate     = flag.Int("rate", 100, "records a second of a shard")
	results  = flag.String("results", "", "`folder` to write a report to; empty: none")
)

const (
	interval = 2 * time.Second        // between two states of a shard
	most     = 200 * time.Millisecond // that a publication may take
)

// The windows end at the newest event, so that a whole day can be there before the load begins.
const gatewayConfig = `
receivers:
  trend:
    clock: event
    max_shards: 1100
    max_rules: 1
    max_groups: 1
    max_states_size: 134217728
    max_lists_size: 16777216
    max_parts_size: 268435456
    protocols: {grpc: {endpoint: <states>}}
exporters:
  topk: {endpoint: <api>}
service:
  pipelines:
    logs: {receivers: [trend], exporters: [topk]}
`

func TestOneGatewayServesManyShards(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	gateway := collector.Start(t, gatewayConfig, collector.NewPorts())
	f := newFleet(t, gateway.Ports.Address(t, "states"), *shards, seed)
	f.fillDay(t)
	gateway.AwaitTotal(t, f.total(), "window", "24h")

	const publishing = "otelcol_receiver_trend_publish_duration_sum"
	collector.Await(t, func() bool { return strings.Contains(gateway.Telemetry(t), publishing) }, func() string { return "nothing was published: " + gateway.Telemetry(t) })
	before := measure(t, gateway)
	var resident float64
	for end := time.Now().Add(*duration); time.Now().Before(end); {
		f.round(t)
		resident = max(resident, measure(t, gateway).resident)
	}
	after := measure(t, gateway)
	f.finish(t)
	list := gateway.AwaitTotal(t, f.total(), "window", "24h", "k", "100")
	exact := f.exact()
	require.NoError(t, list.Law(exact, 100))
	first := *list
	first.Items = first.Items[:10]
	require.NoError(t, first.Same(exact, 10))

	cores := (after.cpu - before.cpu) / after.at.Sub(before.at).Seconds()
	bound := printedBound(t, gateway)
	published, within, longest := after.publications(before)
	slices.Sort(f.took)
	row := fmt.Sprintf("| %d | %.2f | %.0f MB of %.0f MB | %d of %d | %v | %.0f ms | %v, %v, %v |\n", *shards, cores, resident/1e6, bound/1e6,
		within, published, longest, 1000*(after.publishing-before.publishing)/float64(published), f.percentile(50), f.percentile(99), f.percentile(100))
	t.Log(row)
	assert.Less(t, cores, 1.0, "cores")
	assert.Less(t, resident, bound, "resident memory")
	if *results != "" {
		assert.Equal(t, published, within, "publications within %v", most)
		report := fmt.Sprintf(page, *shards, interval, *rate, *duration, row)
		require.NoError(t, os.WriteFile(filepath.Join(*results, "shards.md"), []byte(report), 0o644))
	}
}

const page = `# Many shards and one gateway

Measured by ` + "`make bench-shards`" + `: %d simulated shards of one rule without groups, each of which sends the state of its open minute every %v
over a connection of its own (gRPC, zstd), and counts %d records a second, of Zipf 1.01 over a million keys; for %v, beside 23 hours of minutes that
was there before. The lists of three windows, with the records of point queries, are published every 5 s; a publication is measured
from asking for the lists until the pipeline took them, folding of closed minutes included. CPU is that of the gateway's process. Sender and gateway
share two cores. The first ten of the list of 24 h are the exact ones, and all bounds hold.

| shards | cores | resident, of the printed bound | publications within 200 ms | all within | mean | answers p50, p99, longest |
|---|---|---|---|---|---|---|
%s`

// sample of the gateway.
type sample struct {
	at            time.Time
	cpu, resident float64 // seconds, bytes
	publishing    float64 // seconds
	buckets       []bucket
}

// bucket of the histogram of publications: how many took so long or less.
type bucket struct {
	upto  float64
	count int
}

var bucketLine = regexp.MustCompile(`(?m)^otelcol_receiver_trend_publish_duration_bucket\{.*le="([^"]+)".*\} (\d+)$`)

func measure(t *testing.T, c *collector.Collector) sample {
	t.Helper()
	text := c.Telemetry(t)
	s := sample{
		at:       time.Now(),
		cpu:      collector.Value(t, text, "otelcol_process_cpu_seconds"),
		resident: collector.Value(t, text, "otelcol_process_memory_rss"),
	}
	for _, m := range bucketLine.FindAllStringSubmatch(text, -1) {
		upto, err := strconv.ParseFloat(m[1], 64)
		require.NoError(t, err)
		count, err := strconv.Atoi(m[2])
		require.NoError(t, err)
		s.buckets = append(s.buckets, bucket{upto, count})
	}
	s.publishing = collector.Value(t, text, "otelcol_receiver_trend_publish_duration_sum")
	return s
}

// publications since before: how many, how many of them within most, and the bucket that holds all.
func (s sample) publications(before sample) (all, within int, longest string) {
	last := len(s.buckets) - 1
	all = s.buckets[last].count - before.buckets[last].count
	for i, b := range slices.Backward(s.buckets) {
		n := b.count - before.buckets[i].count
		if n == all {
			longest = fmt.Sprint(b.upto, " s")
		}
		if b.upto == most.Seconds() {
			within = n
		}
	}
	return all, within, longest
}

var boundField = regexp.MustCompile(`"memory_bound_bytes": (\d+)`)

func printedBound(t *testing.T, c *collector.Collector) float64 {
	t.Helper()
	for line := range strings.Lines(c.Output()) {
		if m := boundField.FindStringSubmatch(line); m != nil && strings.Contains(line, "Merging") {
			bound, err := strconv.ParseFloat(m[1], 64)
			require.NoError(t, err)
			return bound
		}
	}
	t.Fatal("no bound was printed")
	return 0
}
