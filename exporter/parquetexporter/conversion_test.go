package parquetexporter

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
)

// unconverted leaves a segment of requests of a record each, as a process that is killed does.
func unconverted(t testing.TB, p place, requests int, at func(int) time.Time) string {
	m := run(t, p.config(t, nil), faulty(func(string) error { return errBucket }))
	for i := range requests {
		require.NoError(t, m.consumeLogs(context.Background(), logsAt(func(int) time.Time { return at(i) }, i)))
	}
	m.end(t)
	require.Len(t, leftover(t, p), 1)
	return leftover(t, p)[0]
}

func TestWhatIsDamagedIsSetAsideAndTheRestIsArchived(t *testing.T) {
	p := newPlace(t)
	path := unconverted(t, p, 50, always(noon))
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, at := range []int{len(content) / 4, len(content) / 2} {
		content[at] ^= 1
	}
	require.NoError(t, os.WriteFile(path, content, 0o600))

	m := run(t, p.config(t, nil))
	require.NoError(t, m.shutdown(context.Background()))
	assert.Len(t, p.archived(t, rule.SignalLogs)[hour], 48)
	assert.EqualValues(t, 2, m.gauge(t, "damaged_frames"))
	assert.EqualValues(t, 48, m.gauge(t, "archived_records"))
	lines := m.logs.FilterMessageSnippet("Part of a segment is damaged").All()
	require.Len(t, lines, 2)
	assert.Contains(t, path, lines[0].ContextMap()["segment"])
	assert.NotContains(t, fmt.Sprint(m.logs.All()), "tenant-", "no record is logged")
	assert.Len(t, glob(t, p.directory+"/damaged/*"), 2)
	assert.Empty(t, leftover(t, p))
}

func TestDamageIsCountedOnceHoweverOftenASegmentIsTried(t *testing.T) {
	p := newPlace(t)
	path := unconverted(t, p, 10, always(noon))
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	content[len(content)/2] ^= 1
	require.NoError(t, os.WriteFile(path, content, 0o600))
	synctest.Test(t, func(t *testing.T) {
		var o outage
		o.down.Store(true)
		m := run(t, p.config(t, nil), faulty(o.fault), plain)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		assert.Greater(t, o.tries.Load(), int32(5))
		assert.EqualValues(t, 1, m.gauge(t, "damaged_frames"))
		m.end(t)
	})
}

func TestARequestThatWasNotAnsweredIsCut(t *testing.T) {
	p := newPlace(t)
	path := unconverted(t, p, 50, always(noon))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path, info.Size()-40))
	m := run(t, p.config(t, nil))
	m.end(t)
	assert.Len(t, p.archived(t, rule.SignalLogs)[hour], 49)
	assert.Equal(t, 1, m.logs.FilterMessageSnippet("ends in a request that was not answered").Len())
	assert.Empty(t, glob(t, p.directory+"/damaged/*"))
}

// TestASegmentOfManyHoursIsConvertedInPasses: history that comes in any order.
func TestASegmentOfManyHoursIsConvertedInPasses(t *testing.T) {
	p := newPlace(t)
	m := run(t, p.config(t, nil), plain)
	const hours, each = 2*passFiles + 10, 3
	for i := range each {
		numbers := upTo((i + 1) * hours)[i*hours:]
		require.NoError(t, m.consumeLogs(context.Background(), logsAt(func(j int) time.Time { return noon.Add(-time.Duration(j) * time.Hour) }, numbers...)))
	}
	m.end(t)
	got := p.plain(t)
	require.Len(t, got, hours)
	for j := range hours {
		require.Equal(t, once(j, hours+j, 2*hours+j), got[hour-archive.Hour(j)])
	}
}

// carelessBucket writes to the end whatever its context says, and refuses the files of an hour.
type carelessBucket struct {
	bucket
	refuses string
	files   atomic.Int32
	short   atomic.Int32
}

func (b *carelessBucket) Put(_ context.Context, path string, write func(io.Writer) error) (int64, error) {
	if strings.Contains(path, b.refuses) {
		return 0, errBucket
	}
	var content bytes.Buffer
	err := write(&content)
	if err == nil && bytes.Count(content.Bytes(), []byte("\n")) != 50 {
		b.short.Add(1)
	}
	b.files.Add(1)
	return int64(content.Len()), err
}

func TestAFileIsNotCompletedWhenAnotherOneFails(t *testing.T) {
	p := newPlace(t)
	unconverted(t, p, 100, func(i int) time.Time { return noon.Add(time.Duration(i%2) * time.Hour) })
	synctest.Test(t, func(t *testing.T) {
		b := &carelessBucket{refuses: "hour=13"}
		m := run(t, p.config(t, nil), plain, func(a *archiver) {
			connect := a.connect
			a.connect = func(ctx context.Context, url string) (bucket, error) {
				var err error
				b.bucket, err = connect(ctx, url)
				return b, err
			}
		})
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.Greater(t, b.files.Load(), int32(30))
		assert.Zero(t, b.short.Load())
		m.end(t)
	})
}

func TestPassesAreBoundedByMemoryAndFiles(t *testing.T) {
	count := func(hours ...share) (n []int) {
		for pass := range passes(hours) {
			n = append(n, len(pass))
		}
		return n
	}
	large, half, small := share{bytes: 100 << 20}, share{bytes: passBytes / unpacked / 2}, share{bytes: 10}
	assert.Empty(t, count())
	assert.Equal(t, []int{1, 1, 1}, count(large, large, large))
	assert.Equal(t, []int{1}, count(large))
	assert.Equal(t, []int{64, 36}, count(make([]share, 100)...))
	assert.Equal(t, []int{1, 2, 1, 1}, count(large, half, half, small, large))
}

func TestAColumnThatMatchesNothingIsNamedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		columns := []any{`log.attributes["tenant.id"]`, `log.attributes["tenat.id"]`, `span.attributes["http.route"]`, `resource.attributes["service.name"]`}
		config := newPlace(t).config(t, map[string]any{"columns": columns})
		m := build(t, config)
		archived := func(present ...int64) { m.columns.archived(rule.SignalLogs, present, time.Now()) }
		archived(0, 0, 0, 10)
		time.Sleep(idle - 1)
		archived(20, 0, 0, 40)
		m.columns.remind(time.Now(), idle)
		assert.Empty(t, m.messages())
		for range 3 {
			time.Sleep(time.Nanosecond)
			m.columns.remind(time.Now(), idle)
		}
		require.Equal(t, []string{"A path in columns was found in no record yet; is it right?"}, m.messages())
		assert.Equal(t, map[string]any{"path": `log.attributes["tenat.id"]`}, m.logs.All()[0].ContextMap())
		found := map[string]int64{}
		for path, n := range m.columns.found() {
			found[path] = n
		}
		assert.Equal(t, map[string]int64{
			`log.attributes["tenant.id"]`: 20, `log.attributes["tenat.id"]`: 0, `span.attributes["http.route"]`: 0, `resource.attributes["service.name"]`: 50,
		}, found)
	})
}

func TestColumnsSayInHowManyRecordsTheyWereFound(t *testing.T) {
	p := newPlace(t)
	m := run(t, p.config(t, map[string]any{"columns": []any{`log.attributes["tenant.id"]`, `span.attributes["n"]`, `log.attributes["nobody"]`}}))
	require.NoError(t, m.consumeLogs(context.Background(), logsAt(always(noon), upTo(10)...)))
	require.NoError(t, m.consumeTraces(context.Background(), spansAt(always(noon), upTo(4)...)))
	require.NoError(t, m.shutdown(context.Background()))
	found := map[string]int64{}
	for path, n := range m.columns.found() {
		found[path] = n
	}
	assert.Equal(t, map[string]int64{`log.attributes["tenant.id"]`: 10, `span.attributes["n"]`: 4, `log.attributes["nobody"]`: 0}, found)
	assert.Len(t, p.archived(t, rule.SignalLogs)[hour], 10)
}
