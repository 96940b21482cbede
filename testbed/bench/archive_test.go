package bench

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/generator"
)

const archivePage = `# Bytes of an archived record

Measured by ` + "`make bench-archive`" + ` (BenchmarkArchive of testbed/bench): %d log records of one hour, the same for each form, 1,000 a request;
four attributes, 100,000 tenants and as many client addresses by Zipf's law of 1.01, times to the nanosecond. Each form is one stream or
file, zstd at its default level. CPU is that of encoding. %s; %s.

%s`

// hour of the records.
var hour = archive.HourOf(time.Date(2026, 1, 2, 15, 0, 0, 0, time.UTC).UnixNano())

// form is a way to keep log records.
type form struct {
	name string
	make func(io.Writer) (add func(plog.Logs) error, end func() error)
}

var forms = []form{
	{"OTLP JSON, a line for each request", lines(new(plog.JSONMarshaler))},
	{"OTLP JSON under zstd", compressed(lines(new(plog.JSONMarshaler)))},
	{"OTLP protobuf", lines(new(plog.ProtoMarshaler))},
	{"OTLP protobuf under zstd", compressed(lines(new(plog.ProtoMarshaler)))},
	{"archive, all attributes in maps", parquet()},
	{"archive, one attribute with a column", parquet(`log.attributes["tenant.id"]`)},
	{
		"archive, all attributes with columns",
		parquet(`log.attributes["tenant.id"]`, `log.attributes["client.address"]`, `log.attributes["http.route"]`,
			`log.attributes["http.response.body.size"]`, `resource.attributes["cloud.region"]`, `resource.attributes["service.name"]`),
	},
}

func lines(m plog.Marshaler) func(io.Writer) (func(plog.Logs) error, func() error) {
	return func(w io.Writer) (func(plog.Logs) error, func() error) {
		add := func(ld plog.Logs) error {
			b, err := m.MarshalLogs(ld)
			if err != nil {
				return err
			}
			_, err = w.Write(append(b, '\n'))
			return err
		}
		return add, func() error { return nil }
	}
}

func compressed(inner func(io.Writer) (func(plog.Logs) error, func() error)) func(io.Writer) (func(plog.Logs) error, func() error) {
	return func(w io.Writer) (func(plog.Logs) error, func() error) {
		z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
		if err != nil {
			panic(err) // the options are constant
		}
		add, _ := inner(z)
		return add, z.Close
	}
}

func parquet(columns ...string) func(io.Writer) (func(plog.Logs) error, func() error) {
	return func(w io.Writer) (func(plog.Logs) error, func() error) {
		parsed, err := archive.ParseColumns(columns)
		if err != nil {
			panic(err) // the paths are constant
		}
		file, err := archive.NewWriter(w, archive.Meta{Signal: rule.SignalLogs, Hour: hour, Shard: "shard", Segment: "0123456789abcdef", Columns: parsed})
		if err != nil {
			panic(err)
		}
		add := func(ld plog.Logs) error {
			for _, rl := range ld.ResourceLogs().All() {
				for _, sl := range rl.ScopeLogs().All() {
					for _, lr := range sl.LogRecords().All() {
						if err := file.Log(rl, sl, lr, 0); err != nil {
							return err
						}
					}
				}
			}
			return nil
		}
		return add, file.Close
	}
}

// size counts what is written to it.
type size int64

func (s *size) Write(p []byte) (int, error) {
	*s += size(len(p))
	return len(p), nil
}

// ownCPU is the CPU time of this process.
func ownCPU(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// requests of n log records in an hour, made as they are wanted: their times lie between those of two requests.
func requests(b *testing.B, n int, yield func(plog.Logs)) {
	b.Helper()
	gen, err := generator.New(generator.Config{Seed: 1, Keys: 100_000, Exponent: 1.01, Regions: 4})
	require.NoError(b, err)
	const perRequest = 1000
	start, rng := hour.Start(), rand.New(rand.NewPCG(1, 0))
	step := time.Hour / time.Duration(n/perRequest)
	for i := range n / perRequest {
		from := start.Add(time.Duration(i) * step)
		ld := gen.Logs(perRequest, from.Add(step), nil)
		for _, rl := range ld.ResourceLogs().All() {
			for _, lr := range rl.ScopeLogs().At(0).LogRecords().All() {
				lr.SetTimestamp(pcommon.NewTimestampFromTime(from.Add(time.Duration(rng.Int64N(int64(step))))))
			}
		}
		yield(ld)
	}
}

// BenchmarkArchive measures the bytes of a record in the archive beside other forms. Run it with -benchtime 1x.
func BenchmarkArchive(b *testing.B) {
	const n = 1_000_000
	sizes := make([]size, len(forms))
	spent := make([]time.Duration, len(forms))
	for b.Loop() {
		adds, ends := make([]func(plog.Logs) error, len(forms)), make([]func() error, len(forms))
		for i, form := range forms {
			sizes[i], spent[i] = 0, 0
			adds[i], ends[i] = form.make(&sizes[i])
		}
		timed := func(i int, do func() error) {
			before := ownCPU(b)
			require.NoError(b, do(), forms[i].name)
			spent[i] += ownCPU(b) - before
		}
		requests(b, n, func(ld plog.Logs) {
			for i, add := range adds {
				timed(i, func() error { return add(ld) })
			}
		})
		for i, end := range ends {
			timed(i, end)
		}
	}

	var table strings.Builder
	fmt.Fprintln(&table, "| form | bytes a record | of OTLP JSON | CPU, µs a record |\n|---|---:|---:|---:|")
	for i, form := range forms {
		fmt.Fprintf(&table, "| %s | %.1f | %.1f %% | %.2f |\n", form.name, float64(sizes[i])/n, 100*float64(sizes[i])/float64(sizes[0]), spent[i].Seconds()/n*1e6)
	}
	b.Log("\n" + table.String())
	for i := range sizes[4:] {
		require.Less(b, sizes[4+i], sizes[3], "%s is larger than protobuf under zstd", forms[4+i].name)
	}
	if *results != "" {
		text := fmt.Sprintf(archivePage, n, collector.CPUModel(), runtime.Version(), table.String())
		require.NoError(b, os.WriteFile(filepath.Join(*results, "archive.md"), []byte(text), 0o644))
	}
}
