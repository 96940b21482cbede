package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/oracle"
)

// Hours that are over answer as they were counted, one by one, together, for each group, and after a crash.
func TestHoursOfThePastAnswerAsTheyWereCounted(t *testing.T) {
	t.Parallel() // they are published once a minute
	d := startStoring(t, "event", "      - {name: tenants, key: 'log.attributes[\"tenant\"]', group_by: 'resource.attributes[\"cloud.region\"]'}\n")
	var tally oracle.Tally
	for minute := 0; minute < 3*60; minute += 7 {
		ld := plog.NewLogs()
		for _, region := range []string{"eu", "us"} {
			rl := ld.ResourceLogs().AppendEmpty()
			rl.Resource().Attributes().PutStr("cloud.region", region)
			records := rl.ScopeLogs().AppendEmpty().LogRecords()
			for i := range 40 {
				at := noon.Add(time.Duration(minute) * time.Minute)
				tenant := fmt.Sprintf("tenant-%s-%d", region, i*i%(minute+3))
				lr := records.AppendEmpty()
				lr.SetTimestamp(pcommon.NewTimestampFromTime(at))
				lr.Attributes().PutStr("tenant", tenant)
				tally.Add(at.UnixNano(), oracle.Named(region), tenant, 1)
			}
		}
		require.NoError(t, d.into[0].Logs(t.Context(), ld))
	}
	check := func() {
		for _, row := range []struct {
			from, hours int
			query       []string
			group       oracle.Group
		}{
			{0, 1, []string{"at", "2026-03-02T12:34:56Z"}, oracle.Global},
			{1, 1, []string{"at", "2026-03-02T13:00:00Z", "window", "1h", "group", "eu"}, oracle.Named("eu")},
			{0, 2, []string{"from", "2026-03-02T12:00:00Z", "to", "2026-03-02T14:00:00Z"}, oracle.Global},
			{0, 2, []string{"from", "2026-03-02T12:00:00Z", "to", "2026-03-02T14:00:00Z", "group", "us"}, oracle.Named("us")},
		} {
			first := noon.Add(time.Duration(row.from) * time.Hour)
			exact := tally.Window(first, first.Add(time.Duration(row.hours)*time.Hour-1), row.group)
			var list *oracle.List
			collector.AwaitFor(t, 90*time.Second, func() bool {
				list = d.answers.Find(t, row.query...)
				return list != nil && list.Total == exact.Total
			}, func() string { return fmt.Sprintf("no list of %d for %v: %+v", exact.Total, row.query, list) })
			require.NoError(t, list.Law(exact, 10), row.query)
			require.NoError(t, list.Same(exact, 10), row.query)
			assert.True(t, list.Certified)
			assert.Equal(t, first, *list.WindowStart)
			assert.Empty(t, list.PartialReasons)
			key := exact.Ranked()[0].Key
			require.NoError(t, d.answers.Count(t, key, row.query...).Law(exact))
		}
	}
	check()
	open := d.answers.Trending(t, "at", "2026-03-02T14:30:00Z")
	assert.NotEmpty(t, open.PartialReasons, "it is not over")
	d.answers.Kill()
	d.answers = d.answers.Again(t)
	d.answers.AwaitReady(t)
	check()
}
