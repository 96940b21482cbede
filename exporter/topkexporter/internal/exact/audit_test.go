package exact

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/table"
	"github.com/otel-topk/collector/topk"
)

// serve what a summary of so many residents makes of an hour.
func (w *world) serve(at archive.Hour, residents int, lost int) {
	if w.served.lists == nil {
		w.served.lists = map[archive.Hour]map[rule.Group]*ServedList{}
	}
	lists := map[rule.Group]*ServedList{}
	w.served.lists[at] = lists
	w.served.at++
	summaries := map[rule.Group]*topk.Summary{}
	count := func(g rule.Group, key string) {
		if summaries[g] == nil {
			s, err := topk.New(residents, topk.Shape{Width: 16, Depth: 2})
			require.NoError(w.t, err)
			summaries[g] = s
		}
		require.NoError(w.t, summaries[g].Add(key, 1))
	}
	for path, records := range w.records {
		if f, _ := archive.ParseFile(path); f.Hour != at {
			continue
		}
		for _, r := range records[min(lost, len(records)):] {
			count(rule.Group{}, r.key)
			count(w.group(r.group), r.key)
		}
	}
	for g, s := range summaries {
		lists[g] = &ServedList{List: s.Top(100), Total: s.Total(), Count: s.Bounds}
	}
}

// manyKeys are records in which no key is much heavier than others.
func manyKeys() (records []record) {
	for i := range 400 {
		for range 1 + i%7 {
			records = append(records, record{[]string{"eu", "us"}[i%2], fmt.Sprint("key ", i*37%400)})
		}
	}
	return records
}

func TestWhatIsServedRightAgrees(t *testing.T) {
	w := newWorld(t)
	w.file(noon, 1, manyKeys()...)
	w.serve(noon, 1000, 0)
	x := w.start(sometime)
	assert.Empty(t, x.Audits("", 0, 10), "the served list may still change")
	w.pass(x, time.Minute)
	audits := x.Audits("tenants", 1, 10)
	require.Len(t, audits, 1)
	a := audits[0]
	assert.True(t, a.Agrees())
	assert.Equal(t, Audit{
		Rule: "tenants", Fingerprint: w.rule.Definition().Fingerprint(), From: noon, To: noon + 1, At: a.At, Exact: a.Exact, ServedVersion: 1, ServedHours: 1,
		Lists: 3, Agreement: 1, BoundsHeld: true, Certified: true, Global: Compared{Agreement: 1, BoundsHeld: true, Certified: true, Total: 1597, Served: 1597},
	}, *a)
	assert.Zero(t, w.log.Len())
	assert.Empty(t, x.Audits("tenants", 24, 10))
	w.pass(x, time.Hour)
	assert.Equal(t, []AuditState{{a, 1, 0}}, x.AuditStates(), "once")
}

func TestATinySummaryDisagrees(t *testing.T) {
	w := newWorld(t)
	w.file(noon, 1, manyKeys()...)
	w.serve(noon, 4, 0)
	x := w.start(sometime)
	w.pass(x, time.Minute)
	states := x.AuditStates()
	require.Len(t, states, 1)
	a := states[0]
	assert.False(t, a.Agrees())
	assert.Less(t, a.Agreement, 1.0)
	assert.True(t, a.BoundsHeld, "a wrong list, and said to be")
	assert.False(t, a.Certified)
	assert.Positive(t, a.Error)
	assert.GreaterOrEqual(t, a.ErrorBound, a.Error)
	assert.Equal(t, 3, a.Disagreeing)
	assert.Len(t, a.Worst, 2)
	assert.EqualValues(t, 1, a.Disagreed)
	require.Equal(t, 1, w.log.FilterLevelExact(zap.WarnLevel).Len())
	for _, field := range w.log.All()[0].Context {
		assert.NotContains(t, field.String, "key ")
		assert.NotContains(t, field.String, "eu")
	}
}

func TestWhatWasNeverCountedBreaksTheBounds(t *testing.T) {
	w := newWorld(t)
	for range 20 {
		w.file(noon, 1, append(w.records[""], record{"eu", "a"}, record{"eu", "a"}, record{"eu", "b"})...)
	}
	w.serve(noon, 100, 1)
	x := w.start(sometime)
	w.pass(x, time.Minute)
	a := x.Audits("", 0, 1)[0]
	assert.False(t, a.BoundsHeld)
	assert.False(t, a.Agrees())
	assert.EqualValues(t, 1, a.Error)
	assert.EqualValues(t, 3, a.Global.Total)
	assert.EqualValues(t, 2, a.Global.Served)
}

func TestAnHourIsAuditedAnewWhenItOrWhatWasServedChanges(t *testing.T) {
	w := newWorld(t)
	w.file(noon, 1, manyKeys()...)
	w.serve(noon, 4, 0)
	x := w.start(sometime)
	w.pass(x, time.Minute)
	require.False(t, x.Audits("", 0, 1)[0].Agrees())
	w.serve(noon, 1000, 0)
	w.pass(x, 3*time.Minute)
	require.True(t, x.Audits("", 0, 1)[0].Agrees())
	w.file(noon, 2, record{"eu", "late"})
	w.pass(x, 10*time.Minute)
	audits := x.Audits("", 0, 10)
	require.Len(t, audits, 1, "in the place of the one before")
	require.True(t, audits[0].Agrees(), "the late key is not among the first")
	assert.EqualValues(t, 3, x.AuditStates()[0].Done)
	assert.EqualValues(t, 1598, audits[0].Global.Total)
}

func TestADayIsAuditedByTheHoursThatWereServed(t *testing.T) {
	w := newWorld(t)
	day := noon.Day()
	w.file(day+22, 1, record{"eu", "a"})
	w.serve(day, 1000, 0) // the first hour of the day, of which the archive shows nothing yet
	x := w.start((day + oneDay + 1).Start())
	w.pass(x, 30*time.Minute)
	assert.Empty(t, x.Audits("tenants", 24, 10), "one hour is exact, and another was served")

	w.file(day, 1, record{"eu", "a"})
	w.pass(x, 30*time.Minute)
	assert.Empty(t, x.Audits("tenants", 24, 10), "both are exact, and one was served")

	w.serve(day+22, 1000, 0)
	w.serve(day, 1000, 0)
	w.served.lists[day] = w.served.lists[day+22] // of the day, and of its first hour
	w.pass(x, 30*time.Minute)
	require.Len(t, x.Audits("tenants", 24, 10), 1)
}

func TestAuditsOutlastTheProcess(t *testing.T) {
	w := newWorld(t)
	w.file(noon, 1, manyKeys()...)
	w.serve(noon, 4, 0)
	x := w.start(sometime)
	w.pass(x, time.Minute)
	before := x.Audits("", 0, 10)
	require.Len(t, w.stored, 1)
	x = New(w.options)
	for key, value := range w.stored {
		assert.False(t, x.Restore(key+"x", value))
		assert.False(t, x.Restore(key, value[1:]))
		assert.True(t, x.Restore(key, value))
	}
	assert.Equal(t, before, x.Audits("", 0, 10))
	x.turn(ctx)
	w.pass(x, 10*time.Minute)
	assert.Equal(t, before, x.Audits("", 0, 10), "and are not made again")
	assert.Zero(t, x.AuditStates()[0].Done)
}

func TestTiesAgree(t *testing.T) {
	exact := []table.Row{}
	for i := range 12 {
		exact = append(exact, table.Row{Key: fmt.Sprintf("k%02d", i), Weight: 5})
	}
	served := topk.List{K: 10}
	for i := 11; i > 1; i-- {
		served.Items = append(served.Items, topk.Item{Key: fmt.Sprintf("k%02d", i), Estimate: 5, Lower: 5})
	}
	list := &ServedList{List: served, Count: func(string) (lower, upper uint64) { return 5, 5 }}
	weigh := func(string) (uint64, error) { return 5, nil }
	c, err := compare(list, exact, weigh)
	require.NoError(t, err)
	assert.InDelta(t, 1.0, c.Agreement, 0)
	assert.True(t, c.BoundsHeld)
}

func TestKeysThatNeverCameDisagree(t *testing.T) {
	list := &ServedList{
		List:  topk.List{K: 10, Items: []topk.Item{{Key: "a", Estimate: 3, Lower: 3}}},
		Count: func(string) (lower, upper uint64) { return 0, 0 },
	}
	c, err := compare(list, nil, func(string) (uint64, error) { return 0, nil })
	require.NoError(t, err)
	assert.Equal(t, Compared{Agreement: 0, BoundsHeld: false, Certified: true, Error: 3}, c)
}
