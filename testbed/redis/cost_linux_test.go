package redis_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
	"github.com/otel-topk/collector/testbed/generator"
	"github.com/otel-topk/collector/testbed/redis"
)

var (
	groups    = flag.Int("groups", 10, "groups of each rule")
	publishes = flag.Int("publishes", 3, "publishes that are measured")
	results   = flag.String("results", "", "folder to write redis.md to")
)

const (
	interval = 5 * time.Second                                                             // between publishes, the default
	memory   = "{receivers: {trend: {storage: null}}, exporters: {topk: {storage: null}}}" // what a storage costs is not measured here
	perGroup = 500                                                                         // records that are sent at first, so that lists are full
	rules    = `
processors:
  topk:
    gateways: [{}, {}]
    rules:
      - {name: tenants, key: ['log.attributes["tenant.id"]'], group_by: 'resource.attributes["cloud.region"]'}
      - {name: tenants_by_bytes, key: ['log.attributes["tenant.id"]'], group_by: 'resource.attributes["cloud.region"]', weight: 'log.attributes["http.response.body.size"]'}
      - {name: clients, key: ['log.attributes["client.address"]'], group_by: 'resource.attributes["cloud.region"]'}
      - {name: clients_by_bytes, key: ['log.attributes["client.address"]'], group_by: 'resource.attributes["cloud.region"]', weight: 'log.attributes["http.response.body.size"]'}
      - {name: tenants_by_route, key: ['log.attributes["tenant.id"]', 'log.attributes["http.route"]'], group_by: 'resource.attributes["cloud.region"]'}
`
)

// fleet is an agent of two gateways that do the same, of which one writes to Redis, and a reader.
type fleet struct {
	testing.TB
	server                *redis.Server
	writer, plain, reader *collector.Collector
	into                  *collector.Sender
	gen                   *generator.Generator
}

func newFleet(t testing.TB) *fleet {
	f := &fleet{TB: t}
	var err error
	f.gen, err = generator.New(generator.Config{Seed: 4, Keys: 100_000, Exponent: 0.8, Regions: *groups})
	require.NoError(t, err)
	ports, plain, reader, agent := collector.NewPorts(), collector.NewPorts(), collector.NewPorts(), collector.NewPorts()
	f.server = redis.Start(t, ports.Address(t, "redis"))
	gateway := "examples/fleet/gateway.yaml"
	f.writer = collector.Start(t, examples.Load(t, gateway, memory, examples.Read(t, "examples/redis/gateway.yaml")), ports)
	f.plain = collector.Start(t, examples.Load(t, gateway, memory), plain)
	reader.Share(t, "redis", ports, "redis")
	f.reader = collector.Start(t, examples.Load(t, "examples/redis/reader.yaml"), reader)
	agent.Share(t, "states", ports, "states")
	agent.Share(t, "plain", plain, "states")
	counting := collector.Start(t, strings.Replace(examples.Load(t, "examples/fleet/agent.yaml", rules), "<states>", "<plain>", 1), agent)
	t.Cleanup(counting.Kill) // what it has not sent is not waited for
	f.into = collector.NewSender(t, agent.Address(t, "otlp"))
	return f
}

// send records, a thousand a request.
func (f *fleet) send(n int) {
	for range n / 1000 {
		require.NoError(f, f.into.Logs(f.Context(), f.gen.Logs(1000, time.Now(), nil)))
	}
}

// lists that there are to be: of each rule and window the global one and one a group.
func lists() int { return 5 * 3 * (1 + *groups) }

// cpu time of a process so far.
func cpu(t testing.TB, pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	var ticks int
	for _, field := range fields[11:13] { // utime and stime, in 1/100 s
		n, err := strconv.Atoi(string(field))
		require.NoError(t, err)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// info is a number of INFO.
func (f *fleet) info(name string) float64 {
	for line := range strings.Lines(f.server.Command("INFO")) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			require.NoError(f, err)
			return n
		}
	}
	f.Fatalf("INFO has no %s", name)
	return 0
}

// state is what is measured before and after.
type state struct {
	writer, plain, reader, server time.Duration
	commands, in, out             float64
	published, written, read      float64
}

func (f *fleet) state() state {
	outcome := func(c *collector.Collector, metric, name string) float64 {
		for line := range strings.Lines(c.Telemetry(f)) {
			if strings.HasPrefix(line, "otelcol_exporter_topk_"+metric) && strings.Contains(line, `outcome="`+name+`"`) {
				return collector.Value(f, line, "")
			}
		}
		f.Fatalf("no outcome %s", name)
		return 0
	}
	return state{
		cpu(f, f.writer.PID()), cpu(f, f.plain.PID()), cpu(f, f.reader.PID()), cpu(f, f.server.PID()),
		f.info("total_commands_processed"), f.info("total_net_input_bytes"), f.info("total_net_output_bytes"),
		outcome(f.writer, "publications", "taken"), outcome(f.writer, "redis_lists", "written"), outcome(f.reader, "redis_lists", "read"),
	}
}

// delays of lists: from when the gateway served one of a new as_of to when the reader did.
func (f *fleet) delays(end <-chan struct{}) []time.Duration {
	var (
		mu       sync.Mutex
		all      []time.Duration
		watching sync.WaitGroup
	)
	for _, rule := range []string{"tenants", "clients_by_bytes"} {
		for _, window := range []string{"5m", "24h"} {
			watching.Go(func() {
				var served, seen string // as_of
				var since time.Time
				for {
					select {
					case <-end:
						return
					case <-time.After(20 * time.Millisecond):
					}
					if asOf := *f.writer.Trending(f, "rule", rule, "window", window, "k", "1").AsOf; asOf.String() != served {
						served, since = asOf.String(), time.Now()
					}
					if asOf := *f.reader.Trending(f, "rule", rule, "window", window, "k", "1").AsOf; asOf.String() == served && seen != served {
						seen = served
						mu.Lock()
						all = append(all, time.Since(since))
						mu.Unlock()
					}
				}
			})
		}
	}
	watching.Wait()
	slices.Sort(all)
	return all
}

func TestWhatListsInRedisCost(t *testing.T) {
	f := newFleet(t)
	empty := f.info("used_memory")
	f.send(*groups * perGroup)
	collector.AwaitFor(t, 3*time.Minute, func() bool {
		f.send(1000 + 10**groups/1000*1000)
		return f.server.Command("ZCARD", "topk:lists") == strconv.Itoa(lists()) && f.reader.Find(t, "rule", "tenants") != nil
	}, func() string {
		return "a list that is missing of " + strconv.Itoa(lists()) + ": " + f.server.Command("ZCARD", "topk:lists")
	})

	end := make(chan struct{})
	before, began := f.state(), time.Now()
	var sending sync.WaitGroup
	sending.Go(func() {
		defer close(end)
		for time.Since(began) < time.Duration(*publishes)*interval {
			f.send(max(1000, *groups*10/1000*1000)) // so that each group changes
			<-time.After(interval / 4)
		}
	})
	delays := f.delays(end)
	sending.Wait()
	after, took := f.state(), time.Since(began)
	require.NotEmpty(t, delays)
	assert.Greater(t, after.written, before.written)
	assert.Greater(t, after.read, before.read)

	n := took.Seconds() / interval.Seconds()
	per := func(b, a time.Duration) string { return fmt.Sprintf("%.0f ms", float64((a-b).Milliseconds())/n) }
	each := func(d time.Duration, lists float64) float64 { return d.Seconds() * 1e3 / lists }
	bytesOf := func(kind string) float64 {
		size, err := strconv.ParseFloat(f.server.Command("MEMORY", "USAGE", "topk:"+kind+":tenants:1h:group:us-east-1", "SAMPLES", "0"), 64)
		require.NoError(t, err)
		return size / 1e3
	}
	used := f.info("used_memory") - empty
	text := fmt.Sprintf("| %d groups, 3 windows, 5 rules: %d lists of up to 100 keys | |\n|---|---|\n", *groups, lists())
	for _, row := range []struct{ of, value string }{
		{"memory of Redis", fmt.Sprintf("%.0f MB; a list %.1f KB", used/1e6, used/1e3/float64(lists()))},
		{"of it: JSON, ranks, publication of a group", fmt.Sprintf("%.1f, %.1f, %.1f KB", bytesOf("list"), bytesOf("rank"), bytesOf("publication"))},
		{"lists published, written and read in 5 s", fmt.Sprintf("%.0f, %.0f, %.0f", (after.published-before.published)/n, (after.written-before.written)/n, (after.read-before.read)/n)},
		{"CPU of the gateway that writes, in 5 s", per(before.writer, after.writer)},
		{"CPU of one that does the same without Redis, in 5 s", per(before.plain, after.plain)},
		{"CPU of the reader, in 5 s", per(before.reader, after.reader)},
		{"CPU of Redis, in 5 s", per(before.server, after.server)},
		{"CPU of a list: of writer, Redis, reader", fmt.Sprintf("%.2f, %.2f, %.2f ms", each(after.writer-before.writer-(after.plain-before.plain), after.written-before.written),
			each(after.server-before.server, after.written-before.written), each(after.reader-before.reader, after.read-before.read))},
		{"bytes to and from Redis, in 5 s", fmt.Sprintf("%.1f MB, %.1f MB", (after.in-before.in)/n/1e6, (after.out-before.out)/n/1e6)},
		{"commands of Redis, those within scripts included", fmt.Sprintf("%.0f a second", (after.commands-before.commands)/took.Seconds())},
		{"from a list at the gateway to the same at the reader", fmt.Sprintf("median %.1f s, at most %.1f s", delays[len(delays)/2].Seconds(), delays[len(delays)-1].Seconds())},
	} {
		text += fmt.Sprintf("| %s | %s |\n", row.of, row.value)
	}
	t.Log("\n" + text)
	if *results != "" {
		head := fmt.Sprintf("# Lists in Redis\n\nMeasured by `make bench-redis` (testbed/redis) for %.0f s: an agent, two gateways without storage that publish every %v, one of which writes to Redis, one reader\nthat asks every second, Redis %s; all on one machine. Each group changes between publishes. %s, %d cores; %s.\n\n"+
			"A list that still waits when a newer one comes is written no more: where the cores are full, as here with an agent and another gateway beside it,\nfewer are published in 5 s than there are, and fewer written. The CPU of a list is what to reckon with.\n\n",
			took.Seconds(), interval, f.version(), processor(), runtime.NumCPU(), runtime.Version())
		require.NoError(t, os.WriteFile(filepath.Join(*results, "redis.md"), []byte(head+text), 0o644))
	}
}

func (f *fleet) version() string {
	_, after, _ := strings.Cut(f.server.Command("INFO", "server"), "redis_version:")
	version, _, _ := strings.Cut(after, "\r")
	return version
}

// processor of this machine.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.HasPrefix(name, "model name") {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
