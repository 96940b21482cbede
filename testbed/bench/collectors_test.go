package bench

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
)

var (
	records = flag.Int("records", 2_000_000, "records that each collector is measured on")
	results = flag.String("results", "", "`folder` to write what was measured to; empty: none")
)

// Configurations to compare: OTLP in, nop out, and between them what the name says.
var variants = []struct{ name, config string }{
	{"pass-through", `
receivers: {otlp: {protocols: {grpc: {endpoint: <otlp>}}}}
exporters: {nop: {}}
service:
  pipelines:
    logs: {receivers: [otlp], exporters: [nop]}
`},
	{"one topk rule", oneRule},
	{"one topk rule, stored", stored},
	{"contrib count", `
receivers: {otlp: {protocols: {grpc: {endpoint: <otlp>}}}}
exporters: {nop: {}}
connectors:
  count:
    logs:
      tenants:
        attributes: [{key: tenant.id}]
service:
  pipelines:
    logs: {receivers: [otlp], exporters: [nop, count]}
    metrics: {receivers: [count], exporters: [nop]}
`},
}

// oneRule counts, merges and answers in one process, as the quickstart does.
const oneRule = `
receivers:
  otlp: {protocols: {grpc: {endpoint: <otlp>}}}
  trend: {protocols: {grpc: {endpoint: <states>}}}
processors:
  topk:
    gateways: [{endpoint: <states>}]
    rules:
      - name: tenants
        key: log.attributes["tenant.id"]
exporters:
  nop:
  topk: {endpoint: <api>}
service:
  pipelines:
    logs: {receivers: [otlp], processors: [topk], exporters: [nop]}
    logs/lists: {receivers: [trend], exporters: [topk]}
`

// stored is oneRule with a storage of all three components, as examples/durable has it.
var stored = strings.NewReplacer(
	"exporters:\n  nop:\n  topk: {endpoint: <api>}", "exporters:\n  nop:\n  topk: {endpoint: <api>, storage: file_storage}",
	"trend: {", "trend: {storage: file_storage, ",
	"  topk:\n    gateways:", "  topk:\n    storage: file_storage\n    gateways:",
	"service:", "extensions: {file_storage: {directory: <folder>}}\nservice:\n  extensions: [file_storage]",
).Replace(oneRule)

// leastStored is the share of the throughput without a storage that a collector must have with one: the inverse of what a record
// costs.
const leastStored = 0.85

// BenchmarkCollectors measures CPU seconds by million records in five interleaved rounds. Run it with -benchtime 1x.
func BenchmarkCollectors(b *testing.B) {
	l := newLoad(b, 500)
	costs := make([][]float64, len(variants))
	for range b.N {
		for range 5 {
			for v, variant := range variants {
				costs[v] = append(costs[v], cost(b, variant.config, l))
			}
		}
	}
	b.ReportMetric(0, "ns/op") // of no meaning here
	var text strings.Builder
	text.WriteString("| collector | CPU seconds by million records, median | all rounds | more than pass-through |\n|---|---|---|---|\n")
	base := median(costs[0])
	for v, variant := range variants {
		m := median(costs[v])
		b.ReportMetric(m, strings.ReplaceAll(variant.name, " ", "-")+"-s/M")
		fmt.Fprintf(&text, "| %s | %.2f | %.2f | %.2f |\n", variant.name, m, costs[v], m-base)
	}
	if share := median(costs[1]) / median(costs[2]); share < leastStored {
		b.Errorf("with a storage the throughput is %.2f of that without, allowed is %.2f or more", share, leastStored)
	}
	report(b, "collectors.md", "Whole collectors: OTLP in, nop out", "BenchmarkCollectors", text.String())
}

// cost of a million records in CPU seconds of a new collector.
func cost(b *testing.B, config string, l *load) float64 {
	ports := collector.NewPorts()
	c := collector.StartBinary(b, "otelcol-bench", strings.ReplaceAll(config, "<folder>", b.TempDir()), ports)
	otlp := ports.Address(b, "otlp")
	l.send(b, otlp, *records/10, 4, 0) // warm
	before := cpu(b, c)
	l.send(b, otlp, *records, 4, 0)
	used := cpu(b, c) - before
	c.Stop(b)
	return used / float64(*records) * 1e6
}

func median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

// BenchmarkPeak sends 300,000 records a second to one collector, and holds its list against what was sent. Run it with
// -benchtime 1x.
func BenchmarkPeak(b *testing.B) {
	const (
		rate   = 300_000
		length = 20 * time.Second
	)
	l := newLoad(b, 500)
	ports := collector.NewPorts()
	c := collector.StartBinary(b, "otelcol-bench", oneRule, ports)
	var achieved, used float64
	for range b.N {
		n := int(rate * length.Seconds())
		before := cpu(b, c)
		took := l.send(b, ports.Address(b, "otlp"), n, 8, rate)
		achieved, used = float64(n)/took.Seconds(), cpu(b, c)-before
	}
	exact := l.exact()
	list := c.AwaitTotal(b, exact.Total, "window", "5m", "k", "100")
	require.NoError(b, list.Law(exact, 100))
	require.NoError(b, list.Same(exact, 100))
	ten := c.AwaitTotal(b, exact.Total, "window", "5m", "k", "10")
	require.NoError(b, ten.Same(exact, 10))
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(achieved, "records/s")
	b.ReportMetric(used/length.Seconds(), "cores")
	report(b, "peak.md", "One collector at 300,000 records a second", "BenchmarkPeak", fmt.Sprintf(
		"For %v one collector with one rule took %.0f records a second on %.2f cores of CPU (%.2f CPU seconds by million records).\n"+
			"Its first 100 keys of 5 minutes are those that were sent, in their order; the list of 10 certified: %v, of 100: %v; largest\n"+
			"error bound of the 100: %d of a total of %d.\n",
		length, achieved, used/length.Seconds(), used/achieved/length.Seconds()*1e6, ten.Certified, list.Certified, largest(list), list.Total))
}
