// Package soak runs a fleet through a day of event time, with 300 groups and keys that change, and measures whether anything grows.
package soak

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
	"github.com/otel-topk/collector/testbed/generator"
	"github.com/otel-topk/collector/testbed/oracle"
)

var (
	hours   = flag.Int("hours", 30, "of event time, more than a day")
	pace    = flag.Duration("pace", 20*time.Millisecond, "wall time of a minute of event time")
	results = flag.String("results", "", "`folder` to write a report to; empty: none")
)

const (
	groups    = 300
	perMinute = 1000 // records of a minute of event time
	warm      = 25   // hours until windows, and what is kept for a day, are full
)

// stream is the records of the soak: of keys of which the heavy ones stay and the rest changes each hour.
type stream struct {
	gen   *generator.Generator
	tally oracle.Tally
}

func newStream(t *testing.T) *stream {
	t.Helper()
	gen, err := generator.New(generator.Config{Seed: 1, Keys: 5000, Exponent: 1.01, Regions: groups})
	require.NoError(t, err)
	return &stream{gen: gen}
}

// minute of records.
func (s *stream) minute(at time.Time) plog.Logs {
	ld := s.gen.Logs(perMinute, at, nil)
	hour := at.Format("-15h")
	for _, rl := range ld.ResourceLogs().All() {
		region, _ := rl.Resource().Attributes().Get("cloud.region")
		for i, lr := range rl.ScopeLogs().At(0).LogRecords().All() {
			tenant, _ := lr.Attributes().Get("tenant.id")
			if i%4 > 0 {
				tenant.SetStr(tenant.Str() + hour)
			}
			s.tally.Add(at.UnixNano(), oracle.Named(region.Str()), tenant.Str(), 1)
		}
	}
	return ld
}

func TestADayLeavesMemoryAndFilesFlat(t *testing.T) {
	gatewayPorts, agentPorts := collector.NewPorts(), collector.NewPorts()
	agentPorts.Share(t, "states", gatewayPorts, "states")
	gateway := startMember(t, "gateway", gatewayOver, gatewayPorts)
	agent := startMember(t, "agent", agentOver, agentPorts)
	to := collector.NewSender(t, agentPorts.Address(t, "otlp"))

	s := newStream(t)
	start := time.Now().Add(-time.Duration(*hours+1) * time.Hour).Truncate(time.Hour)
	began, ticks := time.Now(), time.NewTicker(*pace)
	defer ticks.Stop()
	var rows strings.Builder
	for hour := range *hours {
		for minute := range 60 {
			<-ticks.C
			err := to.Logs(t.Context(), s.minute(start.Add(time.Duration(hour*60+minute)*time.Minute)))
			require.NoError(t, err)
			if minute%30 == 29 {
				s.check(t, gateway, oracle.Global) // and lets the gateway catch up
			}
		}
		fmt.Fprintf(&rows, "| %d | %v | %v | %v |\n", hour+1, time.Since(began).Round(time.Second), agent.sample(t), gateway.sample(t))
	}
	s.check(t, gateway, oracle.Named("us-east-1"))
	text := fmt.Sprintf(page, *hours, *pace, groups, perMinute, rows.String())
	t.Log(text)
	if *results != "" {
		require.NoError(t, os.WriteFile(filepath.Join(*results, "soak.md"), []byte(text), 0o644))
	}
	for _, m := range []*member{agent, gateway} {
		m.flat(t)
	}
}

// check the list of the last hour.
func (s *stream) check(t *testing.T, gateway *member, group oracle.Group) {
	t.Helper()
	query := []string{"rule", "tenants", "window", "1h"}
	if group != oracle.Global {
		query = append(query, "group", group.Name)
	}
	end := s.tally.Newest()
	exact := s.tally.Window(end.Add(-59*time.Minute), end, group)
	var list *oracle.List
	collector.Await(t, func() bool {
		list = gateway.Find(t, query...)
		return list != nil && list.AsOf.Equal(end) && list.Total == exact.Total
	}, func() string {
		return fmt.Sprintf("no list of %v as of %v with a total of %d: %+v", group, end, exact.Total, list)
	})
	require.NoError(t, list.Law(exact, 10))
}

const page = `# Days of event time

Measured by ` + "`make soak`" + `: an agent and a gateway of examples/fleet with storage, clocks that follow the records, and hours kept for a day, through
%d hours of event time at %v a minute: %d groups, %d records a minute, of which three of four have keys that change each hour.

| hours | wall time | agent: resident, heap, goroutines, files | gateway: resident, heap, goroutines, files |
|---|---|---|---|
%s`

// sample of a process.
type sample struct {
	resident, heap, files float64 // bytes
	goroutines            float64
}

func (s sample) String() string {
	return fmt.Sprintf("%.0f MB, %.0f MB, %.0f, %.1f MB", s.resident/1e6, s.heap/1e6, s.goroutines, s.files/1e6)
}

// member is a collector that is measured.
type member struct {
	*collector.Collector
	name    string
	folder  string
	samples []sample
}

// The example of a fleet as it is, but for clocks, for how long it keeps what, and for pprof.
const (
	agentOver = `
processors:
  topk: {clock: event, retain: 1m, emit_interval: 500ms}
service:
  extensions: [storage_check, file_storage, pprof]
`
	gatewayOver = `
receivers:
  trend: {clock: event, retain: 1m, publish_interval: 500ms, keep: {hours: 24h}}
exporters:
  topk: {keep: 24h}
service:
  extensions: [health_check, storage_check, file_storage, pprof]
`
	measured = `
extensions:
  storage_check: {directory: %[1]q}
  file_storage: {directory: %[1]q, compaction: {directory: %[1]q}}
  pprof: {endpoint: <pprof>}
`
)

func startMember(t *testing.T, name, over string, ports *collector.Ports) *member {
	t.Helper()
	folder := t.TempDir()
	config := examples.Load(t, "examples/fleet/"+name+".yaml", over, fmt.Sprintf(measured, folder))
	return &member{Collector: collector.Start(t, config, ports), name: name, folder: folder}
}

// sample measures now, after a collection of garbage.
func (m *member) sample(t *testing.T) sample {
	t.Helper()
	pprof := m.Ports.Address(t, "pprof")
	_, heap := collector.Get(t, pprof, "/debug/pprof/heap?gc=1&debug=1")
	_, goroutines := collector.Get(t, pprof, "/debug/pprof/goroutine?debug=1")
	s := sample{
		resident:   collector.Value(t, m.Telemetry(t), "otelcol_process_memory_rss"),
		heap:       collector.Value(t, heap, "# HeapAlloc = "),
		goroutines: collector.Value(t, goroutines, "goroutine profile: total "),
	}
	files, err := os.ReadDir(m.folder)
	require.NoError(t, err)
	for _, file := range files {
		info, err := file.Info()
		require.NoError(t, err)
		s.files += float64(info.Size())
	}
	m.samples = append(m.samples, s)
	return s
}

// flat fails where the second half of the samples that follow the warm-up lies above the first half by more than chance.
func (m *member) flat(t *testing.T) {
	t.Helper()
	after := m.samples[warm:]
	first, second := after[:len(after)/2], after[len(after)/2:]
	largest := func(of []sample, what func(sample) float64) (most float64) {
		for _, s := range of {
			most = max(most, what(s))
		}
		return most
	}
	for name, of := range map[string]struct {
		what   func(sample) float64
		beside float64 // what chance may add to a quarter more
	}{
		"resident memory": {func(s sample) float64 { return s.resident }, 0},
		"live heap":       {func(s sample) float64 { return s.heap }, 8 << 20}, // a checkpoint, or some requests, are under way or not
		"goroutines":      {func(s sample) float64 { return s.goroutines }, 0},
		"files":           {func(s sample) float64 { return s.files }, 0},
	} {
		assert.LessOrEqual(t, largest(second, of.what), 1.25*largest(first, of.what)+of.beside, "%s of the %s", name, m.name)
	}
}
