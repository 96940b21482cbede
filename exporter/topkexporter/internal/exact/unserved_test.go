package exact

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/otel-topk/collector/internal/archive"
)

func TestWhatWasArchivedAndNeverServedIsAnAuditWhereItOughtToHaveBeen(t *testing.T) {
	some := []record{{"eu", "a"}, {"eu", "a"}, {"us", "b"}}
	afterwards := func(at archive.Hour) func(*world, *Exact) {
		return func(w *world, _ *Exact) { w.file(at, 1, some...) }
	}
	nothing := func(*world, *Exact) {}
	for name, c := range map[string]struct {
		before   func(*world)
		after    func(*world, *Exact)
		unserved []archive.Hour
	}{
		"after an hour of which something is kept": {func(w *world) { w.served.first = noon - 1; w.file(noon, 1, some...) }, nothing, []archive.Hour{noon}},
		"before all that is kept":                  {func(w *world) { w.served.first = noon + 1; w.file(noon, 1, some...) }, nothing, nil},
		"an archive that was there before":         {func(w *world) { w.file(noon, 1, some...) }, nothing, nil},
		"an hour that began after the start":       {func(*world) {}, afterwards(noon + 2), []archive.Hour{noon + 2}},
		"history that came after the start":        {func(*world) {}, afterwards(noon - 100), []archive.Hour{noon - 100}},
		"records that were on their way":           {func(*world) {}, afterwards(noon), nil},
		"served by another definition":             {func(w *world) { w.served.other = true }, afterwards(noon + 2), nil},
		"served, and kept no more":                 {func(w *world) { w.served.gone = noon + 2 }, afterwards(noon + 2), nil},
		"nothing of the rule":                      {func(*world) {}, func(w *world, _ *Exact) { w.file(noon+2, 1) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c.before(w)
			x := w.start(sometime)
			c.after(w, x)
			w.pass(x, 5*time.Minute)
			w.now = w.now.Add(95 * time.Minute)
			w.pass(x, 20*time.Minute)
			var unserved []archive.Hour
			for _, a := range x.Audits("tenants", 1, 10) {
				require.True(t, a.Unserved)
				unserved = append(unserved, a.From)
				assert.Equal(t, Audit{
					Rule: "tenants", Fingerprint: w.rule.Definition().Fingerprint(), From: a.From, To: a.From + 1, At: a.At, Exact: a.Exact,
					Unserved: true, Lists: 3, Disagreeing: 3, Error: 2, Global: Compared{Error: 2, Total: 3},
					Worst: []Compared{{Group: w.group("eu"), Error: 2, Total: 2}, {Group: w.group("us"), Error: 1, Total: 1}},
				}, *a)
			}
			assert.Equal(t, c.unserved, unserved)
			assert.Equal(t, len(c.unserved), x.Auditing()["tenants"].Unserved)
			assert.Equal(t, len(c.unserved), w.log.FilterLevelExact(zap.WarnLevel).FilterMessageSnippet("nothing of them was served").Len())
			w.now = w.now.Add(25 * time.Hour)
			x.turn(ctx)
			assert.Zero(t, x.Auditing()["tenants"].Unserved, "it is told for a day")
			assert.Len(t, x.Audits("tenants", 1, 10), len(c.unserved), "once")
		})
	}
}

func TestAnHourThatIsServedLateIsNoAlarmForLong(t *testing.T) {
	w := newWorld(t)
	w.served.first = noon - 1
	w.file(noon, 1, manyKeys()...)
	x := w.start(sometime)
	w.pass(x, 9*time.Minute)
	assert.Empty(t, x.Audits("", 0, 10), "it may still come")
	w.pass(x, 2*time.Minute)
	assert.True(t, x.Audits("", 0, 10)[0].Unserved)
	w.serve(noon, 1000, 0)
	w.pass(x, 3*time.Minute)
	require.Len(t, x.Audits("", 0, 10), 1)
	assert.True(t, x.Audits("", 0, 10)[0].Agrees())
	assert.Zero(t, x.Auditing()["tenants"].Unserved)
	delete(w.served.lists, noon)
	w.served.at++
	w.pass(x, 3*time.Minute)
	assert.True(t, x.Audits("", 0, 10)[0].Agrees(), "what was audited as served stays so")
}

func TestADayOfWhichHoursWereNotServedIsAudited(t *testing.T) {
	w := newWorld(t)
	day := noon.Day()
	w.served.first = day - 10
	for at := day; at < day+3; at++ {
		w.file(at, 1, record{"eu", "a"})
	}
	x := w.start((day + oneDay + 1).Start())
	w.pass(x, 20*time.Minute)
	audits := x.Audits("tenants", 24, 10)
	require.Len(t, audits, 1)
	assert.True(t, audits[0].Unserved)
	assert.EqualValues(t, 3, audits[0].Global.Total)
	assert.Equal(t, 3, x.Auditing()["tenants"].Unserved, "hours alone")
}

func TestAuditsThatStayBehindAreTold(t *testing.T) {
	w := newWorld(t)
	w.file(noon, 1, manyKeys()...)
	w.serve(noon, 1000, 0)
	x := w.start(sometime)
	w.pass(x, time.Minute)
	assert.Zero(t, x.Auditing()["tenants"].Lag)
	w.served.other = true // from now on
	for at := noon + 1; at <= noon+3; at++ {
		w.file(at, 1, record{"eu", "a"})
		w.pass(x, time.Hour)
	}
	w.pass(x, time.Hour)
	assert.Equal(t, 3*time.Hour, x.Auditing()["tenants"].Lag)

	w = newWorld(t)
	w.served.other = true
	w.file(noon, 1, record{"eu", "a"})
	w.file(noon-1, 1, record{"eu", "a"})
	x = w.start(sometime)
	w.pass(x, time.Minute)
	assert.Equal(t, 2*time.Hour, x.Auditing()["tenants"].Lag, "none was ever made")

	w = newWorld(t)
	w.file(noon, 1, record{"eu", "a"})
	x = w.start(sometime)
	w.pass(x, time.Minute)
	assert.Zero(t, x.Auditing()["tenants"].Lag, "of what was never served none is due")
}
