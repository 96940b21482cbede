package exact

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
)

// requireAll holds the list of all time against the oracle.
func (w *world) requireAll(x *Exact, from, to archive.Hour) {
	w.t.Helper()
	for _, g := range []rule.Group{{}, w.group("eu"), w.group("nowhere")} {
		q := w.question(g, 0, 0)
		q.All = true
		l, status := x.List(ctx, q)
		require.Equal(w.t, Exactly, status)
		require.Equal(w.t, []archive.Hour{from, to}, []archive.Hour{l.From, l.To})
		for _, row := range w.rows(from, to) {
			if row.Group == g {
				require.Contains(w.t, l.Rows, row)
				counted, status := x.CountKey(ctx, q, row.Key)
				require.Equal(w.t, Exactly, status)
				require.Equal(w.t, row.Weight, counted.Sum.Weight)
			}
		}
	}
}

func TestAllTimeGrowsByDaysAndHours(t *testing.T) {
	w := newWorld(t)
	day := noon.Day()
	for i := range archive.Hour(4) {
		w.file(day+24*i+3, int(i), record{"eu", "daily"}, record{"us", string(rune('a' + i))})
	}
	x := w.start((day + 48).Start().Add(30 * time.Minute))
	w.requireAll(x, day, day+28) // two days, the hours to come are not closed
	w.pass(x, 4*time.Hour)
	w.requireAll(x, day, day+52)
	assert.Len(t, w.bucket.made(tableRoot+"all"), 1)
	w.pass(x, 48*time.Hour)
	w.requireAll(x, day, day+96-20)
	assert.Len(t, w.bucket.made(tableRoot+"all"), 2, "each day is added once")

	w.file(day+7, 99, record{"eu", "late"})
	w.pass(x, 7*time.Minute)
	w.requireAll(x, day, day+96-20)
	assert.Len(t, w.bucket.made(tableRoot), 3, "the hour, its day, all time")
	x = w.start(w.now)
	w.requireAll(x, day, day+96-20)
	assert.Empty(t, w.bucket.made(tableRoot))
}

func TestManyDaysAreMergedInSteps(t *testing.T) {
	w := newWorld(t)
	day := noon.Day()
	const n = 2*mostMerged + 3
	for i := range archive.Hour(n) {
		w.file(day+24*i, int(i), record{"eu", "daily"}, record{"us", string(rune('a' + i%26))})
	}
	x := w.start((day + 24*n).Start().Add(30 * time.Minute))
	w.requireAll(x, day, day+24*(n-1)+1)
	for _, span := range [][2]archive.Hour{{day, day + 24*n}, {day + 1, day + 24*(n-5) + 2}} {
		w.await(x, span[0], span[1])
		w.requireExact(x, span[0], span[1])
	}
}

// await the lists of a span of many tables: a busy machine takes longer for them than a reader waits.
func (w *world) await(x *Exact, from, to archive.Hour) {
	for _, g := range []rule.Group{{}, w.group("eu"), w.group("us"), w.group("nowhere")} {
		for status, tries := Pending, 0; status == Pending && tries < 60; tries++ { // each waits for a second
			_, status = x.List(ctx, w.question(g, from, to))
		}
	}
}

func TestTablesThatWereKeptLongEnoughAreRemoved(t *testing.T) {
	w := newWorld(t)
	w.options.Keep = 48 * time.Hour
	day := noon.Day()
	w.file(day+1, 1, record{"eu", "old"})
	w.file(day+25, 2, record{"eu", "b"})
	x := w.start((day + 48).Start().Add(30 * time.Minute))
	w.requireAll(x, day, day+26)
	w.file(day+24*3+1, 3, record{"eu", "c"})
	w.pass(x, 50*time.Hour)
	assert.EqualValues(t, 2, x.Stats().Removed, "an hour and a day")
	w.requireStatus(x, Approximate, day+1, day+2)
	w.requireExact(x, day+25, day+26)
	l, status := x.List(ctx, &Question{Rule: "tenants", All: true})
	require.Equal(t, Exactly, status)
	assert.Equal(t, day, l.From, "all time remembers it")
	assert.EqualValues(t, 3, l.Sum.Weight)
	assert.Equal(t, 1, w.counted[day+1], "what is too old is not counted again")
}
