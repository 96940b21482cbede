package topkprocessor

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/otel-topk/collector/internal/uplink"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/processor/topkprocessor/internal/metadata"
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

func TestUnchangedOpenStateGoesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gw := &fakeGateway{}
		cfg := mustParse(t, tenants)
		cfg.Lateness = time.Hour
		p := startLogs(t, cfg, gw, nil)
		defer stop(t, p)
		start := time.Now()
		require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(start, "a")))
		time.Sleep(65 * time.Second)
		synctest.Wait()
		var at []time.Duration
		for _, r := range gw.received() {
			if len(r.states) == 1 {
				at = append(at, r.at.Sub(start))
				assert.Equal(t, uint64(1), r.states[0].Sequence)
			}
		}
		assert.Equal(t, []time.Duration{2 * time.Second, 32 * time.Second, 62 * time.Second}, at)
	})
}

func TestIdleShardSaysHelloAndGoodbye(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gw := &fakeGateway{}
		cfg := mustParse(t, tenants)
		cfg.Shard = "shard-1"
		p := startLogs(t, cfg, gw, nil)
		start := time.Now()
		time.Sleep(23 * time.Second)
		synctest.Wait()
		stop(t, p)
		var at []time.Duration
		for i, r := range gw.received() {
			at = append(at, r.at.Sub(start))
			assert.Empty(t, r.states)
			assert.Equal(t, "shard-1", r.report.Shard)
			assert.Equal(t, i == 3, r.report.Goodbye)
		}
		assert.Equal(t, []time.Duration{2 * time.Second, 12 * time.Second, 22 * time.Second, 23 * time.Second}, at)
	})
}

func TestShardIsTheInstanceUnlessNamed(t *testing.T) {
	set := processortest.NewNopSettings(metadata.Type)
	set.Resource.Attributes().PutStr("service.instance.id", "instance-1")
	for yaml, want := range map[string]string{tenants: "instance-1", tenants + "shard: eu-1\n": "eu-1"} {
		p := startLogsWith(t, set, mustParse(t, yaml), (&fakeGateway{}).connect, nil)
		assert.Equal(t, want, p.(*logs).counter.Report().Shard)
		stop(t, p)
	}
}

func TestEmissionStretchesToStayUnderTheRate(t *testing.T) {
	for _, tt := range []struct {
		name     string
		interval time.Duration
		size     int
		want     time.Duration
	}{
		{"little", 2 * time.Second, 100 << 10, 2 * time.Second},
		{"at the rate", 2 * time.Second, 1 << 20, 2 * time.Second},
		{"twice the rate", 2 * time.Second, 2 << 20, 4 * time.Second},
		{"far above", 2 * time.Second, 100 << 20, 8 * time.Second},
		{"never below what is configured", 30 * time.Second, 100 << 20, 30 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, uplink.Pace(tt.interval, tt.size)) })
	}
}

func TestRepeatsOfManyOpenStatesStayUnderTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gw := &fakeGateway{}
		cfg := mustParse(t, tenants)
		cfg.Rules[0].GroupBy = `log.attributes["group"]`
		cfg.Rules[0].MaxGroups = 1000
		cfg.Lateness = time.Hour
		p := startLogs(t, cfg, gw, nil)
		defer stop(t, p)
		for g := range 400 {
			ld := tenantLogs(time.Now(), manyTenants(200)...)
			for _, lr := range ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().All() {
				lr.Attributes().PutInt("group", int64(g))
			}
			require.NoError(t, p.ConsumeLogs(t.Context(), ld))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		first, again := 0, 0
		for _, r := range gw.received() {
			if since := r.at.Sub(gw.requests[0].at); since == 0 {
				first += r.bytes
			} else {
				again += r.bytes
			}
			assert.LessOrEqual(t, r.bytes, uplink.MaxRequest)
		}
		assert.Greater(t, first, 1<<20, "else this test shows nothing")
		assert.NotZero(t, again)
		assert.LessOrEqual(t, again, 30*uplink.OpenRate)
	})
}

func manyTenants(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("tenant-%08d", i)
	}
	return names
}
