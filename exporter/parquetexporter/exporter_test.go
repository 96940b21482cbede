package parquetexporter

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/exporter/exportertest"

	"github.com/otel-topk/collector/exporter/parquetexporter/internal/metadata"
	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
)

var (
	hour     = archive.HourOf(noon.UnixNano())
	hourless = func(int) time.Time { return time.Time{} }
)

func TestRecordsLieInTheHourOfTheirEvent(t *testing.T) {
	p := newPlace(t)
	m := run(t, p.config(t, nil))
	ctx := context.Background()
	spread := func(i int) time.Time { return noon.Add(-time.Duration(i%5) * time.Hour) }
	require.NoError(t, m.consumeLogs(ctx, logsAt(spread, upTo(100)...)))
	require.NoError(t, m.consumeLogs(ctx, logsAt(always(noon), 100, 101)))
	require.NoError(t, m.consumeTraces(ctx, spansAt(spread, upTo(10)...)))
	before := archive.HourOf(time.Now().UnixNano())
	require.NoError(t, m.consumeLogs(ctx, logsAt(hourless, 102)))
	m.end(t)

	logs := p.archived(t, rule.SignalLogs)
	for i := range 5 {
		want := map[int]int{}
		for n := i; n < 100; n += 5 {
			want[n] = 1
		}
		if i == 0 {
			want[100], want[101] = 1, 1
		}
		assert.Equal(t, want, logs[hour-archive.Hour(i)])
		assert.Equal(t, once(i, i+5), p.archived(t, rule.SignalTraces)[hour-archive.Hour(i)])
	}
	arrived := logs[before]
	if arrived == nil {
		arrived = logs[before+1]
	}
	assert.Equal(t, once(102), arrived, "a record without a time is of the hour in which it came")
	assert.Len(t, p.files(t, rule.SignalLogs), 6, "a segment is one file an hour")
	assert.Empty(t, m.statuses())
	assert.Empty(t, leftover(t, p), "a segment that is archived is gone")
}

// leftover are the segments in the directory of p.
func leftover(t testing.TB, p place) []string {
	return glob(t, p.directory+"/*.segment")
}

func TestLogsAndTracesOfOneConfigurationShareADirectory(t *testing.T) {
	p := newPlace(t)
	config := p.config(t, nil)
	f := NewFactory()
	set := exportertest.NewNopSettings(metadata.Type)
	host := &machine{}
	ctx := context.Background()
	logs, err := f.CreateLogs(ctx, set, config)
	require.NoError(t, err)
	traces, err := f.CreateTraces(ctx, set, config)
	require.NoError(t, err)
	assert.False(t, logs.Capabilities().MutatesData)
	require.NoError(t, logs.Start(ctx, host))
	require.NoError(t, traces.Start(ctx, host))

	other, err := f.CreateLogs(ctx, set, p.config(t, nil))
	require.NoError(t, err)
	assert.ErrorContains(t, other.Start(ctx, host), "is in use by another exporter")
	require.NoError(t, other.Shutdown(ctx))

	require.NoError(t, logs.ConsumeLogs(ctx, logsAt(always(noon), 1)))
	require.NoError(t, logs.Shutdown(ctx))
	require.NoError(t, traces.ConsumeTraces(ctx, spansAt(always(noon), 2)))
	require.NoError(t, traces.Shutdown(ctx))
	require.NoError(t, traces.Shutdown(ctx))
	assert.Equal(t, map[archive.Hour]map[int]int{hour: once(1)}, p.archived(t, rule.SignalLogs))
	assert.Equal(t, map[archive.Hour]map[int]int{hour: once(2)}, p.archived(t, rule.SignalTraces))

	again, err := f.CreateLogs(ctx, set, config)
	require.NoError(t, err)
	require.NoError(t, again.Start(ctx, host), "a reload may use what was shut down")
	require.NoError(t, again.ConsumeLogs(ctx, logsAt(always(noon), 3)))
	require.NoError(t, again.Shutdown(ctx))
	assert.Equal(t, map[archive.Hour]map[int]int{hour: once(1, 3)}, p.archived(t, rule.SignalLogs))
}

func TestAShutdownWithoutAStart(t *testing.T) {
	l, err := NewFactory().CreateLogs(context.Background(), exportertest.NewNopSettings(metadata.Type), newPlace(t).config(t, nil))
	require.NoError(t, err)
	require.NoError(t, l.Shutdown(context.Background()))
}

func TestAnEmptyRequestLeavesNothing(t *testing.T) {
	p := newPlace(t)
	m := run(t, p.config(t, nil))
	require.NoError(t, m.consumeLogs(context.Background(), logsAt(always(noon))))
	require.NoError(t, m.consumeTraces(context.Background(), spansAt(always(noon))))
	assert.Empty(t, leftover(t, p))
	m.end(t)
	assert.Empty(t, p.files(t, rule.SignalLogs))
}

func TestTwoExportersSideBySideInOneArchive(t *testing.T) {
	p := newPlace(t)
	q := place{directory: p.directory + "2", archive: p.archive}
	one, two := run(t, p.config(t, nil)), run(t, q.config(t, nil))
	ctx := context.Background()
	for i := range 20 {
		require.NoError(t, one.consumeLogs(ctx, logsAt(always(noon), 2*i)))
		require.NoError(t, two.consumeLogs(ctx, logsAt(always(noon), 2*i+1)))
	}
	one.end(t)
	two.end(t)
	assert.Equal(t, map[archive.Hour]map[int]int{hour: once(upTo(40)...)}, p.archived(t, rule.SignalLogs), "even under one name")
	assert.Len(t, p.files(t, rule.SignalLogs), 2)
}

var _ component.Host = (*machine)(nil)
