package e2e

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/oracle"
)

var (
	distinct = flag.Int("distinct", 1_000_000, "distinct keys of the memory test")
	results  = flag.String("results", "", "`folder` to write what the memory test measured to; empty: none")
)

// profiled adds the endpoint that tells how large the live heap is.
func profiled(config string) string {
	return strings.Replace(config, "service:\n", "extensions:\n  pprof:\n    endpoint: <pprof>\nservice:\n  extensions: [pprof]\n", 1)
}

// memory of a collector in bytes: what lives on the heap after a collection, and what the system gave the process.
type memory struct{ heap, resident float64 }

func (m memory) String() string {
	return fmt.Sprintf("live heap %.1f MB, resident %.1f MB", m.heap/1e6, m.resident/1e6)
}

func measure(t *testing.T, c *collector.Collector) memory {
	t.Helper()
	var body string
	for range 3 { // what pools hold lives through two collections
		var status int
		status, body = collector.Get(t, c.Ports.Address(t, "pprof"), "/debug/pprof/heap?gc=1&debug=1")
		require.Equal(t, 200, status)
	}
	return memory{heap: collector.Value(t, body, "# HeapAlloc = "), resident: collector.Value(t, c.Telemetry(t), "otelcol_process_memory_rss")}
}

const memoryPage = `# Memory under keys that are seen once

Measured by ` + "`make test-memory`" + `: one collector with one rule, which counts, merges and answers.

| after | memory |
|---|---|
| %d distinct keys | %v |
| %d more | %v |
`

// flood sends n keys from the first on, each once, over three minutes of event time, and with every tenth of them a record
// of one of ten heavy keys. Only those are counted by key, and all in the total.
func flood(t *testing.T, to *collector.Sender, exact *oracle.Counts, first, n int) {
	t.Helper()
	const batch = 2000
	for start := first; start < first+n; start += batch {
		ld := plog.NewLogs()
		records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
		at := pcommon.NewTimestampFromTime(noon.Add(time.Duration(start/batch%180) * time.Second))
		add := func(key string) {
			lr := records.AppendEmpty()
			lr.SetTimestamp(at)
			lr.Attributes().PutStr("key", key)
		}
		for i := start; i < start+batch; i++ {
			add("a key that is seen once, number " + strconv.Itoa(i))
			if i%10 == 0 {
				heavy := "heavy-" + strconv.Itoa(i/10%10)
				add(heavy)
				exact.Add(heavy, 1)
			}
		}
		exact.Total += batch
		exact.Records += batch
		require.NoError(t, to.Logs(t.Context(), ld))
	}
}

// K10: keys seen once leave memory where it was, and the heavy ones are found.
func TestAFloodOfKeysLeavesMemoryFlat(t *testing.T) {
	rules := "      - name: keys\n        key: log.attributes[\"key\"]\n"
	ports := collector.NewPorts()
	c := collector.Start(t, profiled(singleConfig("event", "logs", rules)), ports)
	awaitGateway(t, c)
	to := collector.NewSender(t, ports.Address(t, "otlp"))

	const warm = 1_000_000
	exact := oracle.NewCounts()
	flood(t, to, exact, 0, warm) // fills every table and buffer
	c.AwaitTotal(t, exact.Total, "window", "5m")
	before := measure(t, c)
	flood(t, to, exact, warm, *distinct)
	list := c.AwaitTotal(t, exact.Total, "window", "5m")
	after := measure(t, c)

	text := fmt.Sprintf(memoryPage, warm, before, *distinct, after)
	t.Log(text)
	if *results != "" {
		require.NoError(t, os.WriteFile(filepath.Join(*results, "memory.md"), []byte(text), 0o644))
	}
	assert.Less(t, after.heap, before.heap*1.10, "live heap")
	assert.Less(t, after.resident, before.resident*1.25, "resident memory")
	require.NoError(t, list.Law(exact, 10))
	require.NoError(t, list.Same(exact, 10))
}
