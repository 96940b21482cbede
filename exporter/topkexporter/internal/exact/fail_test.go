package exact

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
)

func TestAnHourThatFailsIsTriedLaterEachTimeAndHoldsUpNoOther(t *testing.T) {
	w := newWorld(t)
	var reported []error
	w.options.Report = func(err error) { reported = append(reported, err) }
	w.file(noon, 1, record{"eu", "a"})
	w.file(noon-1, 2, record{"eu", "b"})
	w.fails[noon] = archive.ErrDamaged
	x := w.start(sometime)
	w.requireExact(x, noon-1, noon)
	w.requireStatus(x, Pending, noon, noon+1)
	w.pass(x, 3*time.Hour)
	failed := x.Stats().Failed
	assert.Greater(t, failed, int64(5))
	assert.Less(t, failed, int64(12))
	assert.EqualValues(t, 1, x.Stats().Waiting)
	delete(w.fails, noon)
	w.pass(x, 2*time.Hour)
	w.requireExact(x, noon, noon+1)
	require.Len(t, reported, 2, "once when it begins, once when it ends")
	assert.ErrorIs(t, reported[0], archive.ErrDamaged)
	assert.NoError(t, reported[1])
	assert.Equal(t, 1, w.log.FilterLevelExact(zap.ErrorLevel).Len())
	assert.Equal(t, 1, w.log.FilterLevelExact(zap.InfoLevel).Len())
	assert.Zero(t, x.Stats().Waiting)
}

func TestABucketThatIsGoneIsToldOnceAndComesBack(t *testing.T) {
	w := newWorld(t)
	w.file(noon, 1, record{"eu", "a"})
	w.file(noon-1, 2, record{"eu", "a"})
	w.bucket.fails = errDown
	x := w.start(sometime)
	w.pass(x, 10*time.Minute)
	w.requireStatus(x, Pending, noon, noon+1)
	w.bucket.fails = nil
	w.pass(x, 10*time.Minute)
	w.requireExact(x, noon, noon+1)
	w.bucket.fails = errDown
	w.pass(x, 10*time.Minute)
	l, status := x.List(ctx, w.question(rule.Group{}, noon, noon+1))
	require.Equal(t, Exactly, status, "from memory")
	assert.EqualValues(t, 1, l.Sum.Weight)
	w.requireStatus(x, Pending, noon-1, noon+1) // from two tables
	assert.Equal(t, 3, w.log.Len())
}

func TestAnArchiveWithoutAFileIsWarnedOfOnce(t *testing.T) {
	w := newWorld(t)
	x := w.start(sometime)
	w.pass(x, time.Hour)
	w.requireStatus(x, Approximate, noon, noon+1)
	require.Equal(t, 1, w.log.Len())
	assert.Equal(t, "logs", w.log.All()[0].ContextMap()["signal"])
	w.file(noon, 1, record{"eu", "a"})
	w.pass(x, 10*time.Minute)
	w.requireExact(x, noon, noon+1)
}

func TestADamagedTableIsMadeAnew(t *testing.T) {
	w := newWorld(t)
	w.file(noon, 1, record{"eu", "a"}, record{"eu", "b"})
	w.file(noon-1, 2, record{"eu", "b"})
	for root, from := range map[string]archive.Hour{listRoot: noon, tableRoot: noon - 1} { // two hours are read from whole tables
		x := w.start(sometime)
		for path, body := range w.bucket.objects {
			if len(path) > len(root) && path[:len(root)] == root {
				w.bucket.objects[path] = body[:len(body)/2]
			}
		}
		w.requireStatus(x, Pending, from, noon+1)
		w.pass(x, 15*time.Minute)
		w.requireExact(x, noon-1, noon+1)
		w.requireExact(x, noon, noon+1)
	}
}

func TestAnotherDefinitionIsNotAnswered(t *testing.T) {
	w := newWorld(t)
	w.file(noon, 1, record{"eu", "a"})
	x := w.start(sometime)
	q := w.question(rule.Group{}, noon, noon+1)
	q.Fingerprint = "another"
	_, status := x.List(ctx, q)
	assert.Equal(t, Approximate, status)
	q = w.question(rule.Group{}, noon, noon+1)
	q.Rule = "another"
	_, status = x.List(ctx, q)
	assert.Equal(t, Approximate, status)
	assert.Nil(t, x.Definition("another"))
}

func TestAnHourThatTheArchiveLacksStaysApproximate(t *testing.T) {
	w := newWorld(t)
	w.file(noon-3, 1, record{"eu", "a"})
	w.file(noon, 2, record{"eu", "a"})
	x := w.start(sometime)
	q := w.question(rule.Group{}, noon-2, noon+1)
	q.Served = func(at archive.Hour) bool { return at == noon-1 }
	_, status := x.List(ctx, q)
	assert.Equal(t, Approximate, status, "something was served of it")
	q.Served = func(at archive.Hour) bool { return at == noon }
	_, status = x.List(ctx, q)
	assert.Equal(t, Exactly, status)
	w.requireExact(x, noon-1, noon)
	w.requireStatus(x, Approximate, noon.Day()-1, noon) // before the archive began
}

func TestFilesThatWereLeftOutAreSaid(t *testing.T) {
	w := newWorld(t)
	w.leftOut = []string{"logs/x.parquet: damaged"}
	w.file(noon, 1, record{"eu", "a"})
	for range 2 {
		x := w.start(sometime)
		l, status := x.List(ctx, w.question(rule.Group{}, noon, noon+1))
		require.Equal(t, Exactly, status)
		assert.True(t, l.LeftOut)
	}
	assert.Equal(t, 1, w.counted[noon])
}

func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	w := newWorld(t)
	w.file(noon, 1, record{"eu", "a"})
	counting := make(chan struct{})
	w.options.Count = func(ctx context.Context, _ *rule.Rule, _ archive.Hour, _ []archive.File) (*Counted, error) {
		close(counting)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	w.now = sometime
	x := New(w.options)
	x.Close()
	x.Start()
	<-counting
	x.Close()
	assert.Equal(t, Stats{Waiting: 1}, x.Stats())
	assert.Zero(t, w.log.Len(), "an end is no failure")
}
