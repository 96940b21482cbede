package e2e

import (
	"flag"
	"fmt"
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

var distinct = flag.Int("distinct", 1_000_000, "distinct keys of the memory test")

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

// flood sends n records of keys from first on, each once, over three minutes of event time, in which every tenth record is
// of one of ten heavy keys.
func flood(t *testing.T, to *collector.Sender, exact *oracle.Counts, first, n int) {
	t.Helper()
	const batch = 2000
	for start := first; start < first+n; start += batch {
		ld := plog.NewLogs()
		records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
		records.EnsureCapacity(batch)
		at := pcommon.NewTimestampFromTime(noon.Add(time.Duration(start/batch%180) * time.Second))
		for i := start; i < start+batch; i++ {
			key := "a key that is seen once, number " + strconv.Itoa(i)
			if i%10 == 0 {
				key = "heavy-" + strconv.Itoa(i/10%10)
			}
			lr := records.AppendEmpty()
			lr.SetTimestamp(at)
			lr.Attributes().PutStr("key", key)
			exact.Add(key, 1)
		}
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

	exact := oracle.NewCounts()
	flood(t, to, exact, 0, 400_000) // fills every table and buffer
	c.AwaitTotal(t, exact.Total, "window", "5m")
	before := measure(t, c)
	flood(t, to, exact, 400_000, *distinct)
	list := c.AwaitTotal(t, exact.Total, "window", "5m")
	after := measure(t, c)

	t.Logf("%d distinct keys: before %v, after %v", *distinct, before, after)
	assert.Less(t, after.heap, before.heap*1.10, "live heap")
	assert.Less(t, after.resident, before.resident*1.25, "resident memory")
	require.NoError(t, list.Law(exact, 10))
	require.NoError(t, list.Same(exact, 10))
}
