package e2e

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/testbed/archived"
	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/generator"
	"github.com/otel-topk/collector/testbed/oracle"
)

// late sends generated logs of some hours from start: each request holds records of two moments, and none comes in its order.
func (l *load) late(t *testing.T, cfg generator.Config, start time.Time, hours, requests int, to *collector.Sender) (records int64) {
	t.Helper()
	gen, err := generator.New(cfg)
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(cfg.Seed, 0))
	for range requests {
		ld := plog.NewLogs()
		for range 2 {
			at := start.Add(time.Duration(rng.Int64N(int64(hours) * int64(time.Hour))))
			gen.Logs(250, at, func(r generator.Record) { l.add(at, r) }).ResourceLogs().MoveAndAppendTo(ld.ResourceLogs())
		}
		records += int64(ld.LogRecordCount())
		require.NoError(t, to.Logs(t.Context(), ld))
	}
	return records
}

// ranges of a recount, in minutes since a first hour of three.
var ranges = []struct{ from, to int }{{0, 180}, {0, 60}, {60, 120}, {120, 180}, {50, 70}, {7, 8}}

func TestRecordsThatComeLateAndInTheWrongOrderAreRecountedInTheirOwnHour(t *testing.T) {
	t.Parallel()
	a := startArchiving(t, "wall", loadRules)
	start := time.Now().Add(-30 * time.Hour).Truncate(time.Hour)
	l := new(load)
	n := l.late(t, generator.Config{Seed: 1, Keys: 5000, Exponent: 1.01, Regions: 3}, start, 3, 60, a.into[0])
	archived.Await(t, a.store, "logs", n)
	for _, r := range ranges {
		from, to := start.Add(time.Duration(r.from)*time.Minute), start.Add(time.Duration(r.to)*time.Minute)
		for _, rule := range []string{"tenants", "bytes", "failing"} {
			tally := l.tally(rule)
			for _, group := range tally.Groups() {
				asked := collector.Asked{Rule: rule, From: collector.Moment(from), To: collector.Moment(to), Scope: group.Scope, Group: group.Name, K: 100}
				job := a.answers.Recount(t, asked)
				require.NoError(t, job.Exactly(tally.Window(from, to.Add(-1), group), 100), "%+v", asked)
			}
		}
	}
	counted := collector.Value(t, a.answers.Telemetry(t), `otelcol_processor_topk_records_late`)
	assert.EqualValues(t, n, counted, "late for the lists")
	a.recountKeys(t, l, start)
}

// recountKeys asks for single keys, one of which never came.
func (a *archiving) recountKeys(t *testing.T, l *load, start time.Time) {
	t.Helper()
	exact := l.tenants.Window(start, start.Add(3*time.Hour), oracle.Global)
	ranked := exact.Ranked()
	keys := []string{ranked[0].Key, "never sent", ranked[len(ranked)-1].Key}
	job := a.answers.Recount(t, collector.Asked{
		Rule: "tenants", From: collector.Moment(start), To: collector.Moment(start.Add(3 * time.Hour)), Keys: keys, Reason: "a bill",
	})
	require.Equal(t, "done", job.Status, job.Error)
	require.Len(t, job.Results, len(keys))
	for i, item := range job.Results {
		assert.Equal(t, keys[i], item.Key)
		assert.Equal(t, exact.Weights[keys[i]], item.Count, item.Key)
	}
	assert.Equal(t, "a bill", job.Reason)
	assert.Equal(t, exact.Total, job.Total)
}
