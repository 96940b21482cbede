package reads

import (
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
	"github.com/otel-topk/collector/testbed/generator"
)

var (
	rate     = flag.Int("rate", 1500, "lists read a second")
	records  = flag.Int("records", 10_000, "records counted a second")
	duration = flag.Duration("duration", 5*time.Second, "of reading")
	results  = flag.String("results", "", "`folder` to write a report to; empty: none")
)

const (
	readers = 100
	most    = 100 * time.Millisecond // that 99 of 100 reads may wait, in the long form
	regions = 8
)

const page = `# Reads of lists

Measured by ` + "`make bench-reads`" + ` on %s, %d cores, %s: one collector of examples/quickstart counts %d records a second (100,000 tenants, Zipf 1.01, %d
regions), while %d readers, each over one connection, ask for the lists of three windows, in all and of two regions, %d times a second in all, for %v; each sends the ETag
of what it has. Load generator, readers and collector share the cores. A read's time counts from when it was due, so that a reader that waits hides nothing.

| reads | a second | of them 304 | wait p50 | p99 | longest | bytes a second | records counted a second | collector, cores |
|---|---|---|---|---|---|---|---|---|
| %d | %.0f | %.1f %% | %v | %v | %v | %.1f MB | %.0f | %.2f |
`

func TestListsAreReadWhileRecordsAreCounted(t *testing.T) {
	ports := collector.NewPorts()
	c := collector.Start(t, examples.Load(t, "examples/quickstart/config.yaml"), ports)
	stop := startLoad(t, ports.Address(t, "otlp"))
	collector.Await(t, func() bool { return c.Find(t, "window", "5m", "group", "us-east-1") != nil }, func() string { return "no list" })

	var paths []string
	for _, window := range []string{"5m", "1h", "24h"} {
		for _, group := range []string{"", "us-east-1", "eu-west-1"} {
			q := url.Values{"window": {window}, "k": {"10"}}
			if group != "" {
				q.Set("group", group)
			}
			paths = append(paths, "/v1/trending?"+q.Encode())
		}
	}
	before := measure(t, c)
	var reading sync.WaitGroup
	errs := make([]error, readers)
	clients := make([]*client, readers)
	every := time.Duration(readers) * time.Second / time.Duration(*rate)
	start := time.Now().Add(100 * time.Millisecond)
	for i := range clients {
		var err error
		clients[i], err = newClient(ports.Address(t, "api"), paths)
		require.NoError(t, err)
		defer clients[i].conn.Close()
		clients[i].next = i
		begin := start.Add(every * time.Duration(i) / readers) // spread
		reading.Go(func() { errs[i] = clients[i].run(begin, begin.Add(*duration), every) })
	}
	reading.Wait()
	require.NoError(t, errors.Join(errs...), "every read is answered 200 or 304")
	took := time.Since(start).Seconds()
	after := measure(t, c)
	stop()

	var all result
	for _, c := range clients {
		all.ok, all.unchanged, all.bytes = all.ok+c.ok, all.unchanged+c.unchanged, all.bytes+c.bytes
		all.times = append(all.times, c.times...)
	}
	slices.Sort(all.times)
	n := len(all.times)
	wait := func(q float64) time.Duration { return all.times[int(q*float64(n-1))].Round(100 * time.Microsecond) }
	counted := (after.counted - before.counted) / after.at.Sub(before.at).Seconds()
	text := fmt.Sprintf(page, collector.CPUModel(), runtime.NumCPU(), runtime.Version(), *records, regions, readers, *rate, *duration,
		n, float64(n)/took, 100*float64(all.unchanged)/float64(n), wait(0.5), wait(0.99), wait(1), float64(all.bytes)/took/1e6,
		counted, (after.cpu-before.cpu)/after.at.Sub(before.at).Seconds())
	t.Log("\n" + text)
	assert.Positive(t, all.ok)
	assert.Positive(t, all.unchanged, "a list that has not changed")
	assert.Equal(t, generator.TenantName(0), c.Trending(t, "window", "5m").Items[0].Key)
	if *results != "" {
		assert.Less(t, wait(0.99), most)
		assert.Greater(t, float64(n)/took, 0.98*float64(*rate))
		assert.Greater(t, counted, 0.98*float64(*records))
		require.NoError(t, os.WriteFile(filepath.Join(*results, "reads.md"), []byte(text), 0o644))
	}
}

// startLoad sends records until it is stopped.
func startLoad(t *testing.T, to string) (stop func()) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "loadgen")
	said, err := exec.Command("go", "build", "-o", binary, "../cmd/loadgen").CombinedOutput()
	require.NoError(t, err, "%s", said)
	cmd := exec.Command(binary, "-endpoint", to, "-rate", strconv.Itoa(*records), "-regions", strconv.Itoa(regions))
	require.NoError(t, cmd.Start())
	stop = sync.OnceFunc(func() {
		assert.NoError(t, cmd.Process.Signal(os.Interrupt))
		assert.NoError(t, cmd.Wait())
	})
	t.Cleanup(stop)
	return stop
}

// sample of the collector.
type sample struct {
	at           time.Time
	cpu, counted float64
}

func measure(t *testing.T, c *collector.Collector) sample {
	t.Helper()
	text := c.Telemetry(t)
	return sample{time.Now(), collector.Value(t, text, "otelcol_process_cpu_seconds"), collector.Value(t, text, "otelcol_processor_topk_records_counted")}
}
