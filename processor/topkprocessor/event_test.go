package topkprocessor

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/uplink"
	"github.com/otel-topk/collector/internal/window"
)

const replay = tenants + "clock: event\n"

func TestReplayedDayIsSentAsFinalsWithinSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gw := &fakeGateway{}
		p := startLogs(t, mustParse(t, replay), gw, nil)
		c := p.(*logs).counter
		day := time.Date(1999, 5, 1, 0, 0, 0, 0, time.UTC)
		const perMinute, minutes = 100, 24 * 60
		most := 0
		for from := 0; from < minutes; from += 7 {
			ld := plog.NewLogs()
			for m := from; m < min(from+7, minutes); m++ {
				names := make([]string, perMinute)
				for i := range names {
					names[i] = fmt.Sprint("t", i*m%17)
				}
				tenantLogs(day.Add(time.Duration(m)*time.Minute), names...).ResourceLogs().MoveAndAppendTo(ld.ResourceLogs())
			}
			require.NoError(t, p.ConsumeLogs(t.Context(), ld))
			most = max(most, len(c.ledgers[0].open()))
		}
		assert.LessOrEqual(t, most, 4, "closed as the newest event moves, not at the next emission")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.Equal(t, minutes-3, gw.finals(), "all but those within the lateness of the newest event")
		assert.EqualValues(t, minutes*perMinute, gw.merged("tenants").Total())
		assert.Zero(t, c.ledgers[0].tally.late.Load())

		time.Sleep(time.Hour)
		synctest.Wait()
		assert.Equal(t, minutes-3, gw.finals(), "the wall clock closes nothing")
		stop(t, p)
		assert.Equal(t, minutes, gw.finals())
		for id, s := range gw.states {
			assert.EqualValues(t, perMinute, s.Summary.Total(), "%v", id)
		}
	})
}

func TestEventClockJudgesByTheNewestEventAndTheFutureByTheWall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gw := &fakeGateway{}
		p := startLogs(t, mustParse(t, replay), gw, nil)
		l := p.(*logs).counter.ledgers[0]
		past := time.Date(1995, 1, 1, 12, 0, 0, 0, time.UTC)
		consume := func(at time.Time, key string) {
			require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(at, key)))
		}
		consume(past, "a")
		consume(past.Add(-3*time.Minute), "late")
		consume(past.Add(-2*time.Minute), "b")
		consume(time.Now().Add(2*time.Minute), "future")
		consume(past.Add(time.Minute), "c")
		assert.EqualValues(t, 1, l.tally.late.Load())
		assert.EqualValues(t, 1, l.tally.future.Load())
		assert.EqualValues(t, past.Add(time.Minute).UnixNano(), l.newest.Load(), "a future record does not move the clock")
		stop(t, p)
		this := window.MinuteOf(past.UnixNano())
		assert.Equal(t, map[string]window.Minute{"a": this, "b": this - 2, "c": this + 1}, minutes(gw))
	})
}

func TestRulesHaveClocksOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gw := &fakeGateway{}
		p := startLogs(t, mustParse(t, `
clock: event
rules:
  - {name: a, key: 'log.attributes["tenant"]', conditions: 'log.attributes["tenant"] == "a"'}
  - {name: b, key: 'log.attributes["tenant"]', conditions: 'log.attributes["tenant"] == "b"'}
`), gw, nil)
		past := time.Date(1995, 1, 1, 12, 0, 0, 0, time.UTC)
		require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(past.Add(time.Hour), "a")))
		require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(past, "b")))
		stop(t, p)
		assert.Contains(t, gw.states, stateID{"b", window.MinuteOf(past.UnixNano()), rule.Group{}})
	})
}

func TestReplayFinalsAreKeptByTheTimeTheyWereCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gw := &fakeGateway{}
		gw.down.Store(true)
		p := startLogs(t, mustParse(t, replay), gw, nil)
		c := p.(*logs).counter
		past := time.Date(1995, 1, 1, 12, 0, 0, 0, time.UTC)
		require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(past, "a")))
		require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(past.Add(time.Hour), "a")))
		time.Sleep(2*time.Hour - time.Minute)
		synctest.Wait()
		n, _ := c.pending.Count(0)
		assert.Equal(t, 1, n)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		n, _ = c.pending.Count(0)
		assert.Zero(t, n)
		assert.EqualValues(t, 1, c.pending.Dropped[0][uplink.DroppedRetain].Of("tenants"))
		stop(t, p)
	})
}

func TestReplayReachesAGatewayThatWasDownInTheOrderOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gw := &fakeGateway{}
		gw.down.Store(true)
		p := startLogs(t, mustParse(t, replay), gw, nil)
		first := time.Date(1995, 1, 1, 12, 0, 0, 0, time.UTC)
		for day := range 10 {
			require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(first.AddDate(0, 0, day), "a")))
			time.Sleep(3 * time.Second)
		}
		gw.down.Store(false)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		stop(t, p)
		var last window.Minute
		states := 0
		for _, r := range gw.requests {
			for _, s := range r.states {
				assert.GreaterOrEqual(t, s.Minute, last, "an open state before a final would move the clock past it")
				last = s.Minute
				states++
			}
		}
		assert.Equal(t, 11, states, "nine finals, and the newest open and final")
	})
}
