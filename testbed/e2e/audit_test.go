package e2e

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otel-topk/collector/testbed/archived"
	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/dataset"
	"github.com/otel-topk/collector/testbed/generator"
	"github.com/otel-topk/collector/testbed/oracle"
)

// after sends the last record once more, some hours later: the hours before it are over.
func (r *replay) after(t *testing.T, to *collector.Sender) (records int) {
	t.Helper()
	later := pcommon.Timestamp(r.stream.Times[r.sent-1]) + pcommon.Timestamp(3*time.Hour)
	// Each key of a stream has a clock of its own, so the last record of each moves on.
	for _, c := range r.rules {
		i := r.sent - 1
		for i >= 0 && r.stream.Values[c.key][i] == "" {
			i--
		}
		if i < 0 {
			continue // it has counted nothing
		}
		records++
		one := func(yield func(int) bool) { yield(i) }
		if r.stream.Signal == "logs" {
			ld := r.stream.Logs(one)
			record := ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0)
			record.SetTimestamp(later)
			require.NoError(t, to.Logs(t.Context(), ld))
			continue
		}
		td := r.stream.Traces(one)
		span := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
		long := span.EndTimestamp() - span.StartTimestamp()
		span.SetStartTimestamp(later)
		span.SetEndTimestamp(later + long)
		require.NoError(t, to.Traces(t.Context(), td))
	}
	return records
}

// awaitAudits waits until so many hours of a rule are audited with all that was counted, and returns them.
func (a *archiving) awaitAudits(t *testing.T, rule string, hours int) []oracle.Audit {
	t.Helper()
	var complete []oracle.Audit
	collector.AwaitFor(t, 3*time.Minute, func() bool {
		complete = nil
		for _, audit := range a.answers.Audits(t, rule) {
			if audit.Global.ServedTotal == audit.Global.Total {
				complete = append(complete, audit)
			}
		}
		return len(complete) >= hours
	}, func() string {
		return fmt.Sprintf("%d of %d hours of rule %q whose audit is complete: %+v", len(complete), hours, rule, a.answers.Audits(t, rule))
	})
	return complete
}

// hoursOf the records that a rule has counted.
func (c *counted) hoursOf(r *replay) int {
	s, hours := r.stream, make(map[int64]bool)
	for i, at := range s.Times[:r.sent] {
		if s.Values[c.key][i] != "" {
			hours[at/int64(time.Hour)] = true
		}
	}
	return len(hours)
}

// audited is how much of each set is replayed: a gateway serves history by an hour every few seconds.
var audited = flag.Duration("audited", 4*time.Hour, "length of what is audited of each set of real data, at most 20h")

func TestListsOfRealDataAgreeWithTheirAudits(t *testing.T) {
	dir, ok := dataset.Find("../..")
	if !ok {
		t.Log("the folder of the data sets is absent: nothing was audited")
		return
	}
	t.Parallel() // most of the time is waiting
	type sent struct {
		*replay
		to *archiving
	}
	var all []sent
	for _, name := range dataset.Names() {
		streams, err := dataset.Read(dir, name)
		require.NoError(t, err)
		for _, s := range streams {
			r := newReplay(s)
			a := startArchiving(t, "event", r.configured())
			end, _ := slices.BinarySearch(s.Times, s.Times[0]+int64(*audited))
			r.send(t, end, a.deployment)
			archived.Await(t, a.store, s.Signal, int64(end+r.after(t, a.into[0])))
			all = append(all, sent{r, a})
		}
	}
	for _, r := range all {
		for _, c := range r.rules {
			for _, audit := range r.to.awaitAudits(t, c.name, c.hoursOf(r.replay)) {
				what := fmt.Sprintf("%s, %s, %s: %+v", r.stream.Set, r.stream.Name, c.name, audit)
				assert.InDelta(t, 1, audit.Agreement, 0, what)
				assert.True(t, audit.BoundsHeld, what)
				assert.Zero(t, audit.DisagreeingLists, what)
			}
		}
	}
}

// hostile rules: a summary far too small for what it is to count.
const tinyRules = `
      - {name: tiny, key: 'log.attributes["tenant.id"]', group_by: 'resource.attributes["cloud.region"]', k: 10, accuracy: {residents: 16, epsilon: 0.1, delta: 0.1}}
      - {name: usual, key: 'log.attributes["tenant.id"]', group_by: 'resource.attributes["cloud.region"]'}
`

// A summary that is far too small is found out; beside it one of the usual size agrees.
func TestTheAuditFindsASummaryThatIsTooSmall(t *testing.T) {
	t.Parallel()
	a := startArchiving(t, "event", tinyRules)
	start := time.Now().Add(-30 * time.Hour).Truncate(time.Hour)
	gen, err := generator.New(generator.Config{Seed: 1, Keys: 400, Exponent: 0.2, Regions: 3})
	require.NoError(t, err)
	var n int64
	for _, minute := range []int{0, 15, 30, 45, 59, 4 * 60} {
		ld := gen.Logs(2000, start.Add(time.Duration(minute)*time.Minute), nil)
		require.NoError(t, a.into[0].Logs(t.Context(), ld))
		n += int64(ld.LogRecordCount())
	}
	archived.Await(t, a.store, "logs", n)
	tiny, usual := a.awaitAudits(t, "tiny", 1), a.awaitAudits(t, "usual", 1)
	oldest := tiny[len(tiny)-1]
	assert.Less(t, oldest.Agreement, 1.0)
	assert.Positive(t, oldest.DisagreeingLists)
	assert.NotEmpty(t, oldest.WorstGroups)
	assert.True(t, oldest.BoundsHeld, "wide as they are")
	assert.False(t, oldest.Certified)
	assert.InDelta(t, 1, usual[len(usual)-1].Agreement, 0)
	assert.Zero(t, usual[len(usual)-1].DisagreeingLists)
}
