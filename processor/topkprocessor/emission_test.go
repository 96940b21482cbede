package topkprocessor

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/window"
)

func TestChangedStatesGoEveryEmitInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gw := &fakeGateway{}
		p := startLogs(t, mustParse(t, tenants), gw, nil)
		defer stop(t, p)
		start := time.Now()
		require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(start, "a", "b", "a")))

		time.Sleep(2*time.Second - time.Nanosecond)
		synctest.Wait()
		assert.Empty(t, gw.received())

		time.Sleep(time.Nanosecond)
		synctest.Wait()
		requests := gw.received()
		require.Len(t, requests, 1)
		require.Len(t, requests[0].states, 1)
		s := requests[0].states[0]
		assert.False(t, s.Final)
		assert.Equal(t, 1, s.Groups)
		assert.Equal(t, window.MinuteOf(start.UnixNano()), s.Minute)
		assert.Equal(t, start.UnixNano(), s.Newest)
		assert.EqualValues(t, 3, s.Summary.Total())
		assert.Equal(t, "a", s.Summary.Top(1).Items[0].Key)

		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.Len(t, gw.received(), 1, "nothing changed")
	})
}
