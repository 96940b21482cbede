package exact

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
)

// gone takes the files of an hour out of the archive, as keep does; what they held was counted.
func (w *world) gone(at archive.Hour) {
	w.bucket.mu.Lock()
	defer w.bucket.mu.Unlock()
	for path := range w.records {
		if f, err := archive.ParseFile(path); err == nil && f.Hour == at {
			delete(w.bucket.objects, path)
			w.keeps[path] = true
		}
	}
}

func TestALateRecordIsAddedToATableWhoseFilesAreGone(t *testing.T) {
	w := newWorld(t)
	w.file(noon, 1, record{"eu", "a"}, record{"eu", "a"}, record{"us", "b"})
	w.file(noon-1, 1, record{"eu", "c"})
	x := w.start(sometime)
	w.requireExact(x, noon-1, noon+1)
	w.gone(noon)
	w.pass(x, 10*time.Minute)
	w.requireExact(x, noon-1, noon+1)

	w.file(noon, 2, record{"eu", "a"}, record{"us", "new"})
	w.pass(x, 10*time.Minute)
	w.requireExact(x, noon, noon+1)
	w.requireExact(x, noon-1, noon+1)

	w.gone(noon)
	w.file(noon, 3, record{"eu", "later"})
	for range 2 { // also of a process that knows only what the archive says
		w.pass(x, 10*time.Minute)
		w.requireExact(x, noon-1, noon+1)
		x = w.start(w.now)
	}
	assert.Equal(t, 3, w.counted[noon])
}

func TestATableOutlastsItsLists(t *testing.T) {
	w := newWorld(t)
	w.file(noon, 1, record{"eu", "a"})
	x := w.start(sometime)
	w.gone(noon)
	assert.NoError(t, w.bucket.Delete(ctx, x.ledgers["tenants"].place(hours, noon).list()))
	w.file(noon, 2, record{"us", "b"})
	x = w.start(w.now)
	w.pass(x, 10*time.Minute)
	w.requireExact(x, noon, noon+1)
}

func TestAllTimeKeepsHoursWhoseFilesAreGone(t *testing.T) {
	w := newWorld(t)
	w.file(noon-48, 1, record{"eu", "a"})
	w.file(noon, 1, record{"eu", "b"})
	x := w.start(sometime)
	w.pass(x, 24*time.Hour)
	w.gone(noon)
	w.gone(noon - 48)
	w.file(noon-48, 2, record{"eu", "late"})
	for range 2 {
		w.pass(x, 10*time.Minute)
		w.requireAll(x, noon.Day()-48, noon+1)
		x = w.start(w.now)
	}
}

func TestRulesOverEventsWaitForTheSpansThatHoldThem(t *testing.T) {
	for _, c := range []struct {
		key, time string
		reach     archive.Hour
	}{
		{`span.name`, "", 0},
		{`span.name`, rule.TimeStart, hoursAfter},
		{`spanevent.name`, "", hoursAfter},
	} {
		cfg := rule.NewDefaultConfig()
		cfg.Name, cfg.Key, cfg.Time = "spans", []string{c.key}, c.time
		r, err := rule.New(cfg, 0, "", componenttest.NewNopTelemetrySettings())
		require.NoError(t, err)
		l := newLedger(r)
		assert.Equal(t, c.reach, l.reach, c)
		assert.Equal(t, c.reach > 0, l.before > 0, c)
	}
}
