package parquetexporter

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.uber.org/zap/zapcore"

	"github.com/otel-topk/collector/exporter/parquetexporter/internal/segment"
	"github.com/otel-topk/collector/exporter/parquetexporter/internal/segment/segmenttest"
	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
)

// outage of a bucket, which counts how often it is tried.
type outage struct {
	down  atomic.Bool
	tries atomic.Int32
}

func (o *outage) fault(step string) error {
	if step == "put" {
		o.tries.Add(1)
	}
	if o.down.Load() {
		return errBucket
	}
	return nil
}

func TestABucketThatVanishesAndComesBackCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		var o outage
		o.down.Store(true)
		m := run(t, p.config(t, map[string]any{"retry": map[string]any{"initial_interval": "1s", "max_interval": "1m"}}), faulty(o.fault), plain)
		ctx := context.Background()
		for i := range 12 {
			require.NoError(t, m.consumeLogs(ctx, logsAt(always(noon), i)))
			time.Sleep(5*time.Minute + 2*time.Second)
			synctest.Wait()
		}
		assert.Equal(t, []componentstatus.Status{componentstatus.StatusRecoverableError}, m.statuses(), "one change, one report")
		errors := m.logs.FilterLevelExact(zapcore.ErrorLevel)
		require.Equal(t, 1, errors.Len(), "one change, one line")
		assert.Contains(t, errors.All()[0].ContextMap()["error"], "the bucket is gone")
		assert.Len(t, leftover(t, p), 12)
		assert.InDelta(t, 55+6, o.tries.Load(), 5, "with a back-off up to a minute")
		assert.InDelta(t, 3600, m.gauge(t, "behind"), 60)
		assert.EqualValues(t, 12, m.gauge(t, "pending_segments"))
		assert.Positive(t, m.gauge(t, "pending_bytes"))

		o.down.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, []componentstatus.Status{componentstatus.StatusRecoverableError, componentstatus.StatusOK}, m.statuses())
		assert.Empty(t, leftover(t, p))
		assert.Zero(t, m.gauge(t, "behind"))
		assert.Zero(t, m.gauge(t, "pending_segments"))
		assert.Zero(t, m.gauge(t, "pending_bytes"))
		assert.EqualValues(t, 12, m.gauge(t, "archived_records"))
		assert.Equal(t, map[archive.Hour]map[int]int{hour: once(upTo(12)...)}, p.plain(t))
		m.end(t)
	})
}

func TestASegmentThatCannotBeConvertedHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		poison := &poisonedBucket{}
		m := run(t, p.config(t, nil), plain, func(a *archiver) {
			connect := a.connect
			a.connect = func(ctx context.Context, url string) (bucket, error) {
				var err error
				poison.bucket, err = connect(ctx, url)
				return poison, err
			}
		})
		ctx := context.Background()
		for i := range 3 {
			require.NoError(t, m.consumeLogs(ctx, logsAt(always(noon), i)))
			time.Sleep(5*time.Minute + time.Second)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		assert.Equal(t, map[archive.Hour]map[int]int{hour: once(1, 2)}, p.plain(t))
		poison.healed.Store(true)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		assert.Equal(t, map[archive.Hour]map[int]int{hour: once(0, 1, 2)}, p.plain(t))
		m.end(t)
	})
}

func TestAShutdownTriesNoArchiveThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		var o outage
		o.down.Store(true)
		m := run(t, p.config(t, nil), plain, faulty(o.fault))
		require.NoError(t, m.consumeLogs(context.Background(), logsAt(always(noon), 1)))
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		tries := o.tries.Load()
		assert.Positive(t, tries)
		m.end(t)
		assert.Equal(t, tries, o.tries.Load())
		assert.Len(t, leftover(t, p), 1)
	})
}

func TestMoreThanMaxPendingIsRefusedUntilThereIsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		var o outage
		o.down.Store(true)
		m := run(t, p.config(t, map[string]any{"max_pending": 20_000, "segment": map[string]any{"max_size": 4096}}), faulty(o.fault), plain)
		ctx := context.Background()
		taken, refused := 0, 0
		for refused < 10 {
			err := m.consumeLogs(ctx, logsAt(always(noon), taken))
			if err == nil {
				require.Zero(t, refused)
				taken++
				continue
			}
			refused++
			require.ErrorIs(t, err, segment.ErrFull)
			require.False(t, consumererror.IsPermanent(err), "it may come again")
		}
		assert.EqualValues(t, 10, m.gauge(t, "refused_requests"))
		assert.LessOrEqual(t, m.gauge(t, "pending_bytes"), 20_000.0)
		assert.Equal(t, 1, m.logs.FilterMessage("Requests are refused: what comes cannot be kept").Len())

		o.down.Store(false)
		time.Sleep(time.Minute)
		require.NoError(t, m.consumeLogs(ctx, logsAt(always(noon), taken)))
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, 1, m.logs.FilterMessage("Requests are taken again").Len())
		last := m.statuses()
		assert.Equal(t, componentstatus.StatusOK, last[len(last)-1])
		m.end(t)
		assert.Equal(t, once(upTo(taken+1)...), p.plain(t)[hour])
	})
}

func TestAFullDiskRefusesRequestsAndLosesNothing(t *testing.T) {
	p := newPlace(t)
	var full atomic.Bool
	disk := &segmenttest.Disk{Before: func(s segmenttest.Step) error {
		if full.Load() && s == "write" {
			return errBucket
		}
		return nil
	}}
	m := run(t, p.config(t, nil), func(a *archiver) { a.disk = disk })
	disk.Random = newRandom()
	ctx := context.Background()
	want := map[int]int{}
	for i := range 30 {
		full.Store(i%10 > 6)
		err := m.consumeLogs(ctx, logsAt(always(noon), i))
		assert.Equal(t, full.Load(), err != nil)
		assert.False(t, consumererror.IsPermanent(err))
		if err == nil {
			want[i] = 1
		}
	}
	full.Store(false)
	assert.Equal(t, []componentstatus.Status{componentstatus.StatusRecoverableError}, m.statuses())
	assert.EqualValues(t, 9, m.gauge(t, "refused_requests"))
	m.end(t)
	assert.Equal(t, map[archive.Hour]map[int]int{hour: want}, p.archived(t, rule.SignalLogs))
}

func TestAnUploadThatHangsEndsAtItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		m := run(t, p.config(t, map[string]any{"timeout": "30s"}), func(a *archiver) {
			connect := a.connect
			a.connect = func(ctx context.Context, url string) (bucket, error) {
				b, err := connect(ctx, url)
				return &hangingBucket{bucket: b}, err
			}
		})
		require.NoError(t, m.consumeLogs(context.Background(), logsAt(always(noon), 1)))
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		errors := m.logs.FilterLevelExact(zapcore.ErrorLevel)
		require.Equal(t, 1, errors.Len())
		assert.Contains(t, errors.All()[0].ContextMap()["error"], "timeout: it took longer than 30s")
		began := time.Now()
		m.end(t)
		assert.LessOrEqual(t, time.Since(began), 30*time.Second, "nor does it hold up the end")
		assert.Len(t, leftover(t, p), 1)
	})
}

func TestAShutdownHasPatienceAndAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		m := run(t, p.config(t, nil), func(a *archiver) {
			connect := a.connect
			a.connect = func(ctx context.Context, url string) (bucket, error) {
				b, err := connect(ctx, url)
				return &hangingBucket{bucket: b}, err
			}
		})
		require.NoError(t, m.consumeLogs(context.Background(), logsAt(always(noon), 1)))
		began := time.Now()
		m.end(t)
		assert.Equal(t, patience, time.Since(began))
		assert.Contains(t, m.messages(), "Stopped before every segment was archived; they wait in the directory for the next start")
		assert.Empty(t, m.statuses(), "the end of the process is no fault of the archive")
		run(t, p.config(t, nil), plain).end(t)
		assert.Equal(t, map[archive.Hour]map[int]int{hour: once(1)}, p.plain(t))
	})
}
