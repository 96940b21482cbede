package parquetexporter

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
)

// noon is the time of the records.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// load is the configuration of settings, validated as a collector does.
func load(t testing.TB, settings map[string]any) (*Config, error) {
	config := createDefaultConfig().(*Config)
	if err := confmap.NewFromStringMap(settings).Unmarshal(config); err != nil {
		return nil, err
	}
	return config, confmap.Validate(config)
}

// place of an exporter: where its segments and its archive lie.
type place struct{ directory, archive string }

func newPlace(t testing.TB) place {
	dir := t.TempDir()
	return place{directory: filepath.Join(dir, "segments"), archive: filepath.Join(dir, "archive")}
}

// config of an exporter at p, with more settings.
func (p place) config(t testing.TB, more map[string]any) *Config {
	settings := map[string]any{"archive": "file://" + p.archive, "directory": p.directory, "shard": "a", "keep": "876000h", "retry": map[string]any{"initial_interval": "10ms"}}
	for key, value := range more {
		settings[key] = value
	}
	config, err := load(t, settings)
	require.NoError(t, err)
	return config
}

// archiver of a config that is started, with what it logs, reports and measures.
type machine struct {
	*archiver
	logs   *observer.ObservedLogs
	meters *componenttest.Telemetry

	mu     sync.Mutex
	events []componentstatus.Status
}

func (*machine) GetExtensions() map[component.ID]component.Component { return nil }

// Report implements componentstatus.Reporter.
func (m *machine) Report(e *componentstatus.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events = append(m.events, e.Status())
}

func (m *machine) statuses() []componentstatus.Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]componentstatus.Status(nil), m.events...)
}

// build a machine that is not started. change it first.
func build(t testing.TB, config *Config, change ...func(*archiver)) *machine {
	core, logs := observer.New(zap.InfoLevel)
	m := &machine{logs: logs, meters: componenttest.NewTelemetry()}
	set := m.meters.NewTelemetrySettings()
	set.Logger = zap.New(core)
	a, err := newArchiver(config, set)
	require.NoError(t, err)
	for _, c := range change {
		c(a)
	}
	m.archiver = a
	return m
}

func run(t testing.TB, config *Config, change ...func(*archiver)) *machine {
	m := build(t, config, change...)
	require.NoError(t, m.start(context.Background(), m))
	return m
}

func (m *machine) end(t testing.TB) {
	require.NoError(t, m.shutdown(context.Background()))
	require.NoError(t, m.meters.Shutdown(context.Background()))
}

// messages that were logged.
func (m *machine) messages() (all []string) {
	for _, e := range m.logs.All() {
		all = append(all, e.Message)
	}
	return all
}

// logsAt is a request of records with these numbers, at times.
func logsAt(at func(i int) time.Time, numbers ...int) plog.Logs {
	ld := plog.NewLogs()
	rl := ld.ResourceLogs().AppendEmpty()
	rl.Resource().Attributes().PutStr("service.name", "shop")
	records := rl.ScopeLogs().AppendEmpty().LogRecords()
	for i, n := range numbers {
		r := records.AppendEmpty()
		if when := at(i); !when.IsZero() {
			r.SetTimestamp(pcommon.NewTimestampFromTime(when))
		}
		r.Attributes().PutInt("n", int64(n))
		r.Attributes().PutStr("tenant.id", fmt.Sprintf("tenant-%d", n%7))
		r.Body().SetStr("GET /cart")
	}
	return ld
}

// spansAt is a request of spans with these numbers, that end at times.
func spansAt(at func(i int) time.Time, numbers ...int) ptrace.Traces {
	td := ptrace.NewTraces()
	list := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for i, n := range numbers {
		s := list.AppendEmpty()
		s.SetName("GET /cart")
		s.SetStartTimestamp(pcommon.NewTimestampFromTime(at(i).Add(-time.Minute)))
		s.SetEndTimestamp(pcommon.NewTimestampFromTime(at(i)))
		s.Attributes().PutInt("n", int64(n))
	}
	return td
}

func always(when time.Time) func(int) time.Time { return func(int) time.Time { return when } }

// archived is what of a signal is in the archive of p: how often each number, by hour.
func (p place) archived(t testing.TB, signal string) map[archive.Hour]map[int]int {
	all := map[archive.Hour]map[int]int{}
	for _, f := range p.files(t, signal) {
		if all[f.Hour] == nil {
			all[f.Hour] = map[int]int{}
		}
		p.read(t, f, all[f.Hour])
	}
	return all
}

func (p place) files(t testing.TB, signal string) []archive.File {
	store := p.store(t)
	defer store.Close()
	files, foreign, err := store.Files(context.Background(), signal, archive.HourOf(math.MinInt64), archive.HourOf(math.MaxInt64))
	require.NoError(t, err)
	require.Empty(t, foreign)
	return files
}

func (p place) store(t testing.TB) *archive.Store {
	store, err := archive.OpenStore(context.Background(), "file://"+p.archive)
	require.NoError(t, err)
	return store
}

// read the numbers of the records in f.
func (p place) read(t testing.TB, f archive.File, numbers map[int]int) {
	store := p.store(t)
	defer store.Close()
	object, err := store.Open(context.Background(), f.Path())
	require.NoError(t, err)
	defer object.Close()
	r, err := archive.NewReader(object)
	require.NoError(t, err)
	for batch, err := range r.Batches(context.Background(), rule.Needs{Whole: true}) {
		require.NoError(t, err)
		if f.Signal == rule.SignalLogs {
			for record := range logRecords(batch.Logs) {
				n, _ := record.Attributes().Get("n")
				require.Equal(t, f.Hour, archive.HourOf(rule.LogTime(record, batch.Now)))
				numbers[int(n.Int())]++
			}
			continue
		}
		for span := range spans(batch.Traces) {
			n, _ := span.Attributes().Get("n")
			require.Equal(t, f.Hour, archive.HourOf(rule.SpanTime(span, false, batch.Now)))
			numbers[int(n.Int())]++
		}
	}
}

// once is each of these numbers once.
func once(numbers ...int) map[int]int {
	m := map[int]int{}
	for _, n := range numbers {
		m[n] = 1
	}
	return m
}

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// faultyBucket fails as fault says, before a file is written and after it is complete, and before others.
type faultyBucket struct {
	bucket
	fault func(step string) error
}

func (b *faultyBucket) Put(ctx context.Context, path string, write func(io.Writer) error) (int64, error) {
	if err := b.fault("put"); err != nil {
		return 0, err
	}
	size, err := b.bucket.Put(ctx, path, write)
	if err == nil {
		err = b.fault("have put")
	}
	return size, err
}

func (b *faultyBucket) Delete(ctx context.Context, path string) error {
	if err := b.fault("delete"); err != nil {
		return err
	}
	return b.bucket.Delete(ctx, path)
}

// hangingBucket takes nothing, and gives no answer.
type hangingBucket struct{ bucket }

func (*hangingBucket) Put(ctx context.Context, _ string, _ func(io.Writer) error) (int64, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

// poisonedBucket never takes the first file that it is given, until it is healed.
type poisonedBucket struct {
	bucket
	first  atomic.Pointer[string]
	healed atomic.Bool
}

func (b *poisonedBucket) Put(ctx context.Context, path string, write func(io.Writer) error) (int64, error) {
	b.first.CompareAndSwap(nil, &path)
	if *b.first.Load() == path && !b.healed.Load() {
		return 0, errBucket
	}
	return b.bucket.Put(ctx, path, write)
}

// faulty puts a faulty bucket before the archive.
func faulty(fault func(step string) error) func(*archiver) {
	return func(a *archiver) {
		connect := a.connect
		a.connect = func(ctx context.Context, url string) (bucket, error) {
			b, err := connect(ctx, url)
			return &faultyBucket{bucket: b, fault: fault}, err
		}
	}
}
