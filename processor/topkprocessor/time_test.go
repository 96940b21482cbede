package topkprocessor

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
)

func TestRecordsWithoutATimeCountNow(t *testing.T) { // T1
	synctest.Test(t, func(t *testing.T) {
		gw := &fakeGateway{}
		p := startLogs(t, mustParse(t, tenants), gw, nil)
		now := time.Now()
		for _, tt := range []struct {
			name           string
			time, observed time.Time
		}{
			{"time", now.Add(-time.Minute), now},
			{"only observed", time.Time{}, now.Add(-time.Minute)},
			{"neither", time.Time{}, time.Time{}},
		} {
			ld := tenantLogs(time.Unix(0, 0), tt.name)
			lr := ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0)
			stamp(lr, tt.time, tt.observed)
			require.NoError(t, p.ConsumeLogs(t.Context(), ld))
		}
		stop(t, p)
		this := window.MinuteOf(now.UnixNano())
		assert.Equal(t, map[string]window.Minute{"time": this - 1, "only observed": this - 1, "neither": this}, minutes(gw))
	})
}

func stamp(lr plog.LogRecord, at, observed time.Time) {
	lr.SetTimestamp(0)
	if !at.IsZero() {
		lr.SetTimestamp(pcommon.NewTimestampFromTime(at))
	}
	if !observed.IsZero() {
		lr.SetObservedTimestamp(pcommon.NewTimestampFromTime(observed))
	}
}

// minutes in which each key was counted.
func minutes(gw *fakeGateway) map[string]window.Minute {
	gw.mu.Lock()
	defer gw.mu.Unlock()
	m := map[string]window.Minute{}
	for id, s := range gw.states {
		for _, item := range s.Summary.Top(100).Items {
			m[item.Key] = id.minute
		}
	}
	return m
}

func TestRecordCountsUntilItsMinuteHasClosed(t *testing.T) { // T2, T3
	synctest.Test(t, func(t *testing.T) {
		gw := &fakeGateway{}
		p := startLogs(t, mustParse(t, tenants), gw, nil)
		l := p.(*logs).counter.ledgers[0]
		start := time.Now().Truncate(time.Minute)
		at := start.Add(30 * time.Second)
		time.Sleep(time.Until(at))
		consume := func(when time.Time, key string) {
			require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(when, key)))
		}
		consume(at, "first")
		consume(at.Add(-27*time.Hour), "slow clock")
		consume(at.Add(time.Minute), "as far ahead as allowed")
		consume(at.Add(time.Minute+1), "too far ahead")
		assert.EqualValues(t, 1, l.tally.late.Load())
		assert.EqualValues(t, 1, l.tally.future.Load())

		time.Sleep(time.Until(start.Add(3*time.Minute - time.Second)))
		synctest.Wait()
		state := stateID{"tenants", window.MinuteOf(at.UnixNano()), rule.Group{}}
		assert.False(t, gw.states[state].Final, "sent, and open")
		consume(at, "in time")
		time.Sleep(2 * time.Second)
		consume(at, "too late")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		final := gw.states[state]
		assert.True(t, final.Final)
		assert.EqualValues(t, 2, final.Summary.Total(), "corrected while it was open")
		assert.EqualValues(t, 2, l.tally.late.Load())
		assert.EqualValues(t, 3, l.tally.counted.Load())

		stop(t, p)
		report := gw.requests[len(gw.requests)-1].report
		assert.True(t, report.Goodbye)
		require.Len(t, report.Rules, 1)
		assert.EqualValues(t, 2, report.Rules[0].Late)
		assert.EqualValues(t, 1, report.Rules[0].Future)
		assert.EqualValues(t, 3, report.Rules[0].Records)
	})
}

func TestOneBatchOfManyMinutesCountsEachInItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gw := &fakeGateway{}
		p := startLogs(t, mustParse(t, tenants), gw, nil)
		now := time.Now()
		ld := plog.NewLogs()
		for i, at := range []time.Time{now, now.Add(-2 * time.Minute), now.Add(-time.Hour), now.Add(time.Hour), now.Add(-time.Minute), now} {
			tenantLogs(at, string(rune('a'+i))).ResourceLogs().MoveAndAppendTo(ld.ResourceLogs())
		}
		require.NoError(t, p.ConsumeLogs(t.Context(), ld))
		stop(t, p)
		this := window.MinuteOf(now.UnixNano())
		assert.Equal(t, map[string]window.Minute{"a": this, "b": this - 2, "e": this - 1, "f": this}, minutes(gw))
		l := p.(*logs).counter.ledgers[0]
		assert.EqualValues(t, 1, l.tally.late.Load())
		assert.EqualValues(t, 1, l.tally.future.Load())
	})
}
