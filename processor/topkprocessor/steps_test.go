package topkprocessor

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"pgregory.net/rapid"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
)

func TestARequestOfManyMinutesOfHistoryCountsWholly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gw := &fakeGateway{}
		p := startLogs(t, mustParse(t, replay), gw, nil)
		c := p.(*logs).counter
		const minutes = 5000
		first := time.Date(1999, 5, 1, 0, 0, 0, 0, time.UTC)
		ld := plog.NewLogs()
		records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
		for i := range minutes {
			lr := records.AppendEmpty()
			lr.SetTimestamp(pcommon.NewTimestampFromTime(first.Add(time.Duration(i*7%minutes) * time.Minute)))
			lr.Attributes().PutStr("tenant", fmt.Sprint("t", i%3))
		}
		require.NoError(t, p.ConsumeLogs(t.Context(), ld))
		assert.LessOrEqual(t, len(c.ledgers[0].open()), c.openBuckets())
		stop(t, p)
		assert.Equal(t, minutes, gw.finals())
		assert.EqualValues(t, minutes, gw.merged("tenants").Total())
		assert.Zero(t, c.ledgers[0].tally.late.Load(), "no record is late for another of its request")
	})
}

func TestStepsHoldEachRecordOnceInTheOrderOfTimeAndFewMinutes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 5).Draw(t, "most")
		b := &rule.Batch{Times: rapid.SliceOf(rapid.Int64Range(-int64(time.Hour), int64(time.Hour))).Draw(t, "times")}
		b.Skipped.Unmatched = 3
		if rapid.Bool().Draw(t, "weighted") {
			b.Weights = []uint64{}
		}
		if rapid.Bool().Draw(t, "grouped") {
			b.Groups = []rule.Group{}
		}
		for _, ns := range b.Times {
			b.Keys = append(b.Keys, fmt.Sprint(ns))
			if b.Weights != nil {
				b.Weights = append(b.Weights, uint64(ns+int64(time.Hour)))
			}
			if b.Groups != nil {
				b.Groups = append(b.Groups, rule.Group{Name: fmt.Sprint(ns)})
			}
		}
		var times []int64
		var skipped uint64
		last := window.Minute(-1 << 40)
		wide := false
		for step := range steps(b, most) {
			require.Len(t, step, 1)
			s := &step[0]
			skipped += s.Skipped.Unmatched
			minutes := map[window.Minute]bool{}
			for i, ns := range s.Times {
				minutes[window.MinuteOf(ns)] = true
				require.Equal(t, fmt.Sprint(ns), s.Keys[i])
				if b.Weights != nil {
					require.EqualValues(t, ns+int64(time.Hour), s.Weights[i])
				}
				if b.Groups != nil {
					require.Equal(t, s.Keys[i], s.Groups[i].Name)
				}
			}
			require.LessOrEqual(t, len(minutes), most)
			for m := range minutes {
				require.Greater(t, m, last, "no minute is in two steps")
			}
			for m := range minutes {
				last = max(last, m)
			}
			wide = wide || len(times) > 0
			times = append(times, s.Times...)
		}
		require.ElementsMatch(t, b.Times, times)
		require.EqualValues(t, 3, skipped)
		if wide {
			require.IsNonDecreasing(t, times)
		}
	})
}
