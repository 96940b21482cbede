package archive

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"golang.org/x/sys/unix"

	"github.com/otel-topk/collector/internal/rule"
)

const benchRows = 1 << 18

var benchColumns = []string{`log.attributes["tenant.id"]`, `resource.attributes["cloud.region"]`}

// benchLogs is a request of 1,024 access log records, of distinct tenants as said, in four resources.
func benchLogs(seed uint64, tenants int) plog.Logs {
	r := rand.New(rand.NewPCG(seed, 1))
	zipf := rand.NewZipf(r, 1.05, 1, uint64(tenants-1))
	ld := plog.NewLogs()
	var scopes []plog.ScopeLogs
	for i := range 4 {
		rl := ld.ResourceLogs().AppendEmpty()
		rl.Resource().Attributes().PutStr("cloud.region", []string{"eu-1", "us-1"}[i%2])
		rl.Resource().Attributes().PutStr("service.name", "checkout")
		rl.Resource().Attributes().PutStr("host.name", fmt.Sprintf("host-%d", i))
		sl := rl.ScopeLogs().AppendEmpty()
		sl.Scope().SetName("access")
		scopes = append(scopes, sl)
	}
	for i := range 1024 {
		l := scopes[i/256].LogRecords().AppendEmpty()
		at := pcommon.Timestamp(1767366000_000000000 + seed*1e7 + uint64(i)*9000 + r.Uint64N(4000))
		l.SetTimestamp(at)
		l.SetObservedTimestamp(at + 5e6)
		l.SetSeverityNumber(9)
		l.SetSeverityText("INFO")
		status := []int64{200, 200, 200, 404, 500}[r.IntN(5)]
		tenant := fmt.Sprintf("tenant-%d", zipf.Uint64())
		l.Body().SetStr(fmt.Sprintf("GET /api/v1/items/%d %d %s", r.IntN(1e6), status, tenant))
		l.Attributes().PutStr("tenant.id", tenant)
		l.Attributes().PutStr("http.route", fmt.Sprintf("/api/v1/items/%d", r.IntN(40)))
		l.Attributes().PutInt("http.status_code", status)
		l.Attributes().PutStr("client.address", fmt.Sprintf("10.%d.%d.%d", r.IntN(4), r.IntN(256), r.IntN(256)))
	}
	return ld
}

func benchFile(b testing.TB, tenants int) []byte {
	var out bytes.Buffer
	w, err := NewWriter(&out, Meta{Signal: rule.SignalLogs, Columns: mustColumns(b, benchColumns...)})
	require.NoError(b, err)
	for seed := range uint64(benchRows / 1024) {
		writeLogs(b, w, benchLogs(seed, tenants))
	}
	require.NoError(b, w.Close())
	return out.Bytes()
}

func writeLogs(b testing.TB, w *Writer, ld plog.Logs) {
	for _, rl := range ld.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			for _, r := range sl.LogRecords().All() {
				if err := w.Log(rl, sl, r, 1); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
}

// spent is the CPU time of the process, which says more than time where the machine has others to serve.
func spent() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func perRecord(b *testing.B, since time.Duration) {
	b.ReportMetric(float64(spent()-since)/float64(b.N)/benchRows, "cpu-ns/record")
}

func BenchmarkWrite(b *testing.B) {
	var requests []plog.Logs
	for seed := range uint64(benchRows / 1024) {
		requests = append(requests, benchLogs(seed, 100000))
	}
	columns := mustColumns(b, benchColumns...)
	b.ReportAllocs()
	before := spent()
	for b.Loop() {
		w, err := NewWriter(io.Discard, Meta{Signal: rule.SignalLogs, Columns: columns})
		if err != nil {
			b.Fatal(err)
		}
		for _, ld := range requests {
			writeLogs(b, w, ld)
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
	perRecord(b, before)
}

func BenchmarkRead(b *testing.B) {
	column := rule.Attribute{Context: "log", Name: "tenant.id"}
	region := rule.Attribute{Context: "resource", Name: "cloud.region"}
	for _, row := range []struct {
		name    string
		tenants int
		needs   rule.Needs
	}{
		{"column", 100_000, rule.Needs{Attributes: []rule.Attribute{column}}},
		{"column of many values", 1e9, rule.Needs{Attributes: []rule.Attribute{column}}},
		{"column and group", 100_000, rule.Needs{Attributes: []rule.Attribute{column, region}}},
		{"column and severity", 100_000, rule.Needs{Attributes: []rule.Attribute{column}, Fields: []string{"log.severity_number"}}},
		{"from the map", 100_000, rule.Needs{Attributes: []rule.Attribute{{Context: "log", Name: "http.route"}}}},
		{"whole", 100_000, rule.Needs{Whole: true}},
	} {
		b.Run(row.name, func(b *testing.B) {
			file := inMemory(benchFile(b, row.tenants))
			b.ReportAllocs()
			before := spent()
			for b.Loop() {
				r, err := NewReader(file)
				if err != nil {
					b.Fatal(err)
				}
				n := 0
				for batch, err := range r.Batches(b.Context(), row.needs) {
					if err != nil {
						b.Fatal(err)
					}
					n += batch.Logs.LogRecordCount()
				}
				if n != benchRows {
					b.Fatal(n)
				}
			}
			perRecord(b, before)
			b.ReportMetric(float64(file.Size())/benchRows, "bytes/record")
		})
	}
}
