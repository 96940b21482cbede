package parquetexporter

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/exporter/parquetexporter/internal/segment"
	"github.com/otel-topk/collector/internal/rule"
)

// benchRequest is a request of records as a web shop has them: six attributes and a body, 250 bytes of protobuf each.
func benchRequest(seed, records int) plog.Logs {
	ld := plog.NewLogs()
	rl := ld.ResourceLogs().AppendEmpty()
	rl.Resource().Attributes().PutStr("service.name", "checkout")
	rl.Resource().Attributes().PutStr("cloud.region", "eu-west-1")
	list := rl.ScopeLogs().AppendEmpty().LogRecords()
	for i := range records {
		n := uint64(seed*records+i) * 0x9e3779b97f4a7c15
		r := list.AppendEmpty()
		r.SetTimestamp(pcommon.NewTimestampFromTime(noon.Add(time.Duration(i) * time.Microsecond)))
		r.SetSeverityNumber(9)
		r.Body().SetStr(fmt.Sprintf("GET /cart/%d 200 in %dms", n%10_000, n%700))
		r.Attributes().PutStr("tenant.id", fmt.Sprintf("tenant-%04d", n>>50%3000))
		r.Attributes().PutStr("http.route", fmt.Sprintf("/cart/{id}/%d", n>>40%20))
		r.Attributes().PutStr("client.address", fmt.Sprintf("10.%d.%d.%d", n>>8%256, n>>16%256, n>>24%256))
		r.Attributes().PutInt("http.response.status_code", 200)
		r.Attributes().PutInt("http.response.body.size", int64(n>>32%50_000))
		r.Attributes().PutStr("user_agent.original", "Mozilla/5.0 (X11; Linux x86_64)")
	}
	return ld
}

// cpu of this process so far.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkConsume takes requests of 1,000 records into segments; conversions are left out.
func BenchmarkConsume(b *testing.B) {
	const records = 1000
	for _, fsync := range []bool{true, false} {
		for _, clients := range []int{1, 16} {
			b.Run(fmt.Sprintf("fsync=%v/clients=%d", fsync, clients), func(b *testing.B) {
				m := run(b, newPlace(b).config(b, map[string]any{"fsync": fsync, "segment": map[string]any{"max_age": "24h", "max_size": 8 << 30}}),
					faulty(func(string) error { return errBucket }))
				var requests []plog.Logs
				for i := range 64 {
					requests = append(requests, benchRequest(i, records))
				}
				b.ReportAllocs()
				before := cpu()
				b.SetParallelism((clients + 1) / 2)
				b.ResetTimer()
				if clients == 1 {
					for i := range b.N {
						require.NoError(b, m.consumeLogs(context.Background(), requests[i%len(requests)]))
					}
				} else {
					b.RunParallel(func(pb *testing.PB) {
						for i := 0; pb.Next(); i++ {
							if err := m.consumeLogs(context.Background(), requests[i%len(requests)]); err != nil {
								b.Error(err)
							}
						}
					})
				}
				b.StopTimer()
				n := float64(b.N) * records
				b.ReportMetric(float64((cpu()-before).Nanoseconds())/n, "cpu-ns/record")
				b.ReportMetric(float64(m.folder.Pending().Bytes)/n, "disk-bytes/record")
				m.end(b)
			})
		}
	}
}

// BenchmarkMarshal is the part of BenchmarkConsume that any exporter has.
func BenchmarkMarshal(b *testing.B) {
	request := benchRequest(1, 1000)
	size := 0
	before := cpu()
	for range b.N {
		body, err := (&plog.ProtoMarshaler{}).MarshalLogs(request)
		require.NoError(b, err)
		size = len(body)
	}
	b.ReportMetric(float64((cpu()-before).Nanoseconds())/float64(b.N)/1000, "cpu-ns/record")
	b.ReportMetric(float64(size)/1000, "bytes/record")
}

// BenchmarkConvert makes a file of a segment of 200,000 records.
func BenchmarkConvert(b *testing.B) {
	const requests = 200
	p := newPlace(b)
	config := p.config(b, map[string]any{"columns": []any{`log.attributes["tenant.id"]`}, "fsync": false})
	m := run(b, config, faulty(func(string) error { return errBucket }))
	for i := range requests {
		require.NoError(b, m.consumeLogs(context.Background(), benchRequest(i, 1000)))
	}
	m.end(b)
	kept, err := os.ReadFile(leftover(b, p)[0])
	require.NoError(b, err)
	name := filepath.Base(leftover(b, p)[0])
	before := cpu()
	b.ResetTimer()
	for range b.N {
		require.NoError(b, os.WriteFile(filepath.Join(p.directory, name), kept, 0o600))
		run(b, config).end(b)
	}
	b.StopTimer()
	n := float64(b.N) * requests * 1000
	b.ReportMetric(float64((cpu()-before).Nanoseconds())/n, "cpu-ns/record")
	b.ReportMetric(float64(p.files(b, rule.SignalLogs)[0].Size)/requests/1000, "file-bytes/record")
}

// BenchmarkEncode is the compression in BenchmarkConsume.
func BenchmarkEncode(b *testing.B) {
	codec, err := segment.NewCodec()
	require.NoError(b, err)
	body, err := (&plog.ProtoMarshaler{}).MarshalLogs(benchRequest(1, 1000))
	require.NoError(b, err)
	r := segment.Request{Hours: []segment.Records{{Hour: hour, Count: 1000}}, Body: body}
	var f segment.Frame
	before := cpu()
	for range b.N {
		codec.Encode(&r, &f)
	}
	b.ReportMetric(float64((cpu()-before).Nanoseconds())/float64(b.N)/1000, "cpu-ns/record")
	b.ReportMetric(float64(f.Size())/1000, "disk-bytes/record")
}
