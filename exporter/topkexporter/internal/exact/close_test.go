package exact

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/table"
)

// sometime is 40 minutes into the hour after noon.
var sometime = noon.Start().Add(100 * time.Minute)

func TestAnHourIsCountedOnceItIsClosed(t *testing.T) {
	w := newWorld(t)
	w.file(noon, 1, record{"eu", "a"}, record{"eu", "a"}, record{"us", "b"})
	w.file(noon, 2, record{"us", "a"})
	w.file(noon+1, 3, record{"us", "c"})
	x := w.start(noon.Start().Add(74 * time.Minute))
	w.requireStatus(x, Approximate, noon, noon+1)
	assert.Empty(t, w.bucket.made(tableRoot))
	w.pass(x, 2*time.Minute)
	w.requireExact(x, noon, noon+1)
	w.requireStatus(x, Approximate, noon+1, noon+2)
	w.requireStatus(x, Approximate, noon, noon+2)
	assert.Equal(t, []string{"year=2025/month=12/day=29/hour=12"}, w.bucket.made(tableRoot))
	w.pass(x, time.Hour)
	w.requireExact(x, noon+1, noon+2)
	w.requireExact(x, noon, noon+2)
	assert.Equal(t, Stats{Made: 2}, x.Stats())
	assert.Equal(t, map[archive.Hour]int{noon: 1, noon + 1: 1}, w.counted, "each once")
}

func TestATableThatIsRightIsNotMadeAgain(t *testing.T) {
	w := newWorld(t)
	w.file(noon, 1, record{"eu", "a"})
	x := w.start(sometime)
	w.requireExact(x, noon, noon+1)
	x = w.start(sometime)
	w.requireExact(x, noon, noon+1)
	assert.Equal(t, map[archive.Hour]int{noon: 1}, w.counted)
}

func TestANewFileMakesItsHourAnew(t *testing.T) {
	w := newWorld(t)
	w.file(noon, 1, record{"eu", "a"})
	w.file(noon-50, 2, record{"eu", "z"})
	x := w.start(sometime)
	w.requireExact(x, noon, noon+1)
	w.requireExact(x, noon-50, noon-49)
	w.file(noon, 3, record{"eu", "b"}, record{"us", "b"})
	w.pass(x, time.Minute+time.Second)
	w.requireStatus(x, Pending, noon, noon+1)
	w.pass(x, 2*time.Minute)
	w.requireExact(x, noon, noon+1)
	assert.Equal(t, 1, w.log.FilterMessageSnippet("counted anew").Len())
	w.file(noon-50, 4, record{"eu", "y"})
	w.pass(x, 10*time.Minute)
	w.requireExact(x, noon-50, noon-49)
	assert.Equal(t, map[archive.Hour]int{noon: 2, noon - 50: 2}, w.counted)
	assert.EqualValues(t, 2, x.Stats().Anew)
	assert.Equal(t, 1, w.log.FilterMessageSnippet("counted anew").Len(), "it is told once")
}

func TestFilesThatKeepComingPutAnHourOffForAWhileOnly(t *testing.T) {
	w := newWorld(t)
	w.file(noon, 1, record{"eu", "a"})
	x := w.start(sometime)
	for i := range 35 {
		w.file(noon, 2+i, record{"eu", "b"})
		w.pass(x, 30*time.Second)
		if i == 20 {
			assert.Equal(t, 1, w.counted[noon], "it may have more")
		}
	}
	assert.Greater(t, w.counted[noon], 1)
	w.pass(x, 10*time.Minute)
	w.requireExact(x, noon, noon+1)
}

func TestListsAreTheHeaviestOfManyKeys(t *testing.T) {
	w := newWorld(t)
	var records []record
	for i := range 3 * rule.MaxK {
		for range 1 + i*7919%5 {
			records = append(records, record{"eu", fmt.Sprint("key ", i)})
		}
	}
	w.file(noon, 1, records...)
	w.file(noon-1, 2, records...)
	x := w.start(sometime)
	rows := slices.DeleteFunc(w.rows(noon, noon+1), func(r table.Row) bool { return r.Group != rule.Group{} })
	slices.SortFunc(rows, table.Heavier)
	l, status := x.List(ctx, w.question(rule.Group{}, noon, noon+1))
	require.Equal(t, Exactly, status)
	require.Equal(t, rows[:rule.MaxK], l.Rows)
	assert.EqualValues(t, 3*rule.MaxK, l.Sum.Distinct)
	l, status = x.List(ctx, w.question(rule.Group{}, noon-1, noon+1))
	require.Equal(t, Exactly, status)
	require.Len(t, l.Rows, rule.MaxK)
	for i, row := range l.Rows {
		assert.Equal(t, rows[i].Key, row.Key)
		assert.Equal(t, 2*rows[i].Weight, row.Weight)
	}
	lightest := rows[len(rows)-1]
	counted, status := x.CountKey(ctx, w.question(rule.Group{}, noon, noon+1), lightest.Key)
	require.Equal(t, Exactly, status)
	assert.Equal(t, lightest.Weight, counted.Sum.Weight)
}

func TestFilesThatWereKeptLongEnoughLeaveTheirTable(t *testing.T) {
	w := newWorld(t)
	w.file(noon, 1, record{"eu", "a"})
	w.file(noon, 2, record{"eu", "b"})
	w.file(noon+1, 3, record{"eu", "b"})
	x := w.start(sometime)
	rows := w.rows(noon, noon+1)
	for path := range w.records {
		if f, _ := archive.ParseFile(path); f.Hour == noon {
			delete(w.bucket.objects, path)
			w.pass(x, 20*time.Minute)
		}
	}
	l, status := x.List(ctx, w.question(rule.Group{}, noon, noon+1))
	require.Equal(t, Exactly, status)
	assert.EqualValues(t, 2, l.Sum.Weight)
	assert.Len(t, rows, 4)
	x = w.start(sometime.Add(3 * time.Hour))
	l, status = x.List(ctx, w.question(rule.Group{}, noon, noon+1))
	require.Equal(t, Exactly, status, "also after a restart")
	assert.EqualValues(t, 2, l.Sum.Weight)
	assert.Equal(t, 1, w.counted[noon])
}

func TestADayIsMergedWhenItsHoursAreThere(t *testing.T) {
	w := newWorld(t)
	day := noon.Day()
	for i := range archive.Hour(24) {
		if i != 5 {
			w.file(day+i, int(i), record{"eu", string(rune('a' + i%7))}, record{"us", "every hour"})
		}
	}
	x := w.start((day + 24).Start().Add(14 * time.Minute))
	w.requireStatus(x, Approximate, day, day+24)
	w.requireExact(x, day, day+23)
	w.pass(x, 2*time.Minute)
	w.requireExact(x, day, day+24)
	w.requireExact(x, day+3, day+9)
	w.requireExact(x, day+5, day+6)
	made := w.bucket.made(tableRoot)
	assert.Len(t, made, 25, "23 hours, the day and all time")
	assert.Equal(t, "year=2025/month=12/day=29", made[len(made)-2])

	w.file(day+5, 99, record{"eu", "late"})
	w.pass(x, 15*time.Minute)
	w.requireExact(x, day, day+24)
	assert.Len(t, w.bucket.made(tableRoot), 3, "the hour, the day and all time")
	x = w.start((day + 24).Start().Add(30 * time.Minute))
	w.requireExact(x, day, day+24)
	assert.Empty(t, w.bucket.made(tableRoot))
}

func TestAllTimeGrowsByDays(t *testing.T) {
	w := newWorld(t)
	day := noon.Day()
	for i := range archive.Hour(5) {
		w.file(day+24*i+3, int(i), record{"eu", "daily"}, record{"us", string(rune('a' + i))})
	}
	all := func(x *Exact, g rule.Group) *List {
		l, status := x.List(ctx, &Question{Rule: "tenants", Group: g, All: true})
		require.Equal(t, Exactly, status)
		return l
	}
	x := w.start((day + 48).Start().Add(30 * time.Minute))
	l := all(x, rule.Group{})
	assert.Equal(t, []archive.Hour{day, day + 28}, []archive.Hour{l.From, l.To})
}
