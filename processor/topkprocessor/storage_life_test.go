package topkprocessor

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/otel-topk/collector/internal/uplink"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/processor/topkprocessor/internal/metadatatest"
)

func TestReloadWhileTheGatewayIsDownLosesNothing(t *testing.T) { // L1, T5
	synctest.Test(t, func(t *testing.T) {
		folder, gw := t.TempDir(), &setGateway{}
		gw.down.Store(true)
		for range 3 {
			set, lines := observedSettings()
			p := newMachine(t, folder).startWith(t, set, stored, gw)
			require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "a", "b")))
			stop(t, p)
			assert.Zero(t, p.counter.pending.Dropped.Of(0, "tenants"))
			for _, line := range warnings(lines) {
				assert.NotContains(t, line, "lost")
			}
		}
		assert.Zero(t, gw.total("tenants"))
		gw.down.Store(false)
		stop(t, newMachine(t, folder).start(t, stored, gw))
		assert.EqualValues(t, 6, gw.total("tenants"))
		assert.Len(t, gw.sets, 3, "each under an epoch of its own")
		assert.Len(t, gw.goodbyes, 4)
		for id, set := range gw.sets {
			assert.True(t, set.complete)
			assert.True(t, gw.goodbyes[id.epoch])
		}
	})
}

func TestFinalsAreDurableBeforeTheyAreSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gw := &setGateway{}
		m := newMachine(t, t.TempDir())
		var mu sync.Mutex
		written := map[string]bool{}
		m.onWrite = func(ops []*storage.Operation) error {
			mu.Lock()
			defer mu.Unlock()
			for _, op := range ops {
				if op.Type == storage.Set {
					written[op.Key] = true
				}
			}
			return nil
		}
		finals := 0
		gw.answer = func(r received) error {
			mu.Lock()
			defer mu.Unlock()
			for _, s := range r.states {
				if s.Final {
					finals++
					assert.True(t, written[numbered(finalKey, uint64(finals))])
					assert.True(t, written[numbered(floorKey, 0)])
				}
			}
			return nil
		}
		p := m.start(t, stored, gw)
		for range 5 {
			require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "a", "b")))
			time.Sleep(time.Minute)
		}
		stop(t, p)
		assert.Equal(t, 5, finals)
	})
}

func TestNothingIsCountedBeforeItIsInTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tally atomic.Pointer[tally]
		var requests atomic.Uint64
		m := newMachine(t, t.TempDir())
		m.onWrite = func(ops []*storage.Operation) error {
			for _, op := range ops {
				if op.Type == storage.Set && strings.HasPrefix(op.Key, journalKey) {
					assert.Equal(t, requests.Load(), tally.Load().counted.Load())
					requests.Add(1)
				}
			}
			return nil
		}
		p := m.start(t, stored, &setGateway{})
		tally.Store(&p.counter.ledgers[0].tally)
		for range 5 {
			require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "a")))
		}
		assert.EqualValues(t, 5, requests.Load())
		stop(t, p)
	})
}

func TestMinutesThatHaveClosedAreNotCountedAgain(t *testing.T) {
	for _, tt := range []struct {
		name string
		down bool // so that the final state stays stored
		lost bool // the floor
	}{{"answered", false, false}, {"stored", true, false}, {"stored, its floor damaged", true, true}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				folder, gw := t.TempDir(), &setGateway{}
				gw.down.Store(tt.down)
				m := newMachine(t, folder)
				p := m.start(t, stored, gw)
				require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "a")))
				time.Sleep(3*time.Minute + 5*time.Second)
				m.kill(t, p)
				gw.down.Store(true)
				if tt.lost {
					require.Equal(t, 1, damage(t, folder, func(key string) bool { return strings.HasPrefix(key, floorKey) }))
				}
				q := newMachine(t, folder).start(t, stored, gw)
				n, _ := q.counter.pending.Count(0)
				assert.Equal(t, map[bool]int{false: 0, true: 1}[tt.down], n)
				stop(t, q)
			})
		})
	}
}

func TestFinalStaysStoredUntilEveryGatewayAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder, up, down := t.TempDir(), &setGateway{}, &setGateway{}
		down.down.Store(true)
		yaml := stored + "gateways: [{endpoint: localhost:1}, {endpoint: localhost:2}]\n"
		m := newMachine(t, folder)
		p := m.start(t, yaml, up, down)
		begin := time.Now()
		require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(begin, "a", "b")))
		time.Sleep(5 * time.Minute)
		require.True(t, up.sets[setID{p.counter.epoch, "tenants", minuteOf(begin)}].complete)
		m.kill(t, p)
		assert.Len(t, finalsIn(t, folder), 1)

		down.down.Store(false)
		stop(t, newMachine(t, folder).start(t, yaml, up, down))
		assert.EqualValues(t, 2, down.total("tenants"))
		assert.EqualValues(t, 2, up.total("tenants"), "a repeat changes nothing")
		assert.Empty(t, finalsIn(t, folder))
	})
}

func minuteOf(at time.Time) window.Minute { return window.MinuteOf(at.UnixNano()) }

func finalsIn(t *testing.T, folder string) (keys []string) {
	t.Helper()
	for key := range storedValues(t, folder) {
		if strings.HasPrefix(key, finalKey) {
			keys = append(keys, key)
		}
	}
	return keys
}

func TestChangedRuleStartsAnewAndTheOthersGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder, gw := t.TempDir(), &setGateway{}
		before := tenants + "  - {name: same, key: 'log.attributes[\"tenant\"]'}\n  - {name: gone, key: 'log.attributes[\"tenant\"]'}\nstorage: file_storage\n"
		m := newMachine(t, folder)
		p := m.start(t, before, gw)
		require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "a", "b")))
		m.kill(t, p)

		after := strings.Replace(before, "name: tenants\n", "name: tenants\n    weight: bytes\n", 1)
		after = strings.Replace(after, "  - {name: gone, key: 'log.attributes[\"tenant\"]'}\n", "", 1)
		after = strings.Replace(after, "{name: same,", "{name: same, k: 7, max_groups: 9,", 1)
		set, lines := observedSettings()
		q := newMachine(t, folder).startWith(t, set, after, gw)
		require.NoError(t, q.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "a")))
		stop(t, q)
		for _, name := range []string{"tenants", "same", "gone"} {
			assert.EqualValues(t, 2, gw.sets[setID{p.counter.epoch, name, minuteOf(time.Now())}].total(), "%s: as it was counted", name)
		}
		assert.EqualValues(t, 1, gw.sets[setID{q.counter.epoch, "same", minuteOf(time.Now())}].total())
		changed := lines.FilterMessageSnippet("has changed")
		require.Equal(t, 1, changed.Len())
		assert.Equal(t, map[string]any{"rule": "tenants"}, changed.All()[0].ContextMap())
		assert.Empty(t, warnings(lines))
	})
}

func TestFinalsOfARuleThatIsNotConfiguredAnyMoreExpireUnderItsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tel := componenttest.NewTelemetry()
		defer func() { require.NoError(t, tel.Shutdown(t.Context())) }()
		folder, gw := t.TempDir(), &setGateway{}
		gw.down.Store(true)
		m := newMachine(t, folder)
		p := m.start(t, strings.Replace(stored, "name: tenants", "name: gone", 1), gw)
		require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "a")))
		m.kill(t, p)

		time.Sleep(time.Hour)
		q := newMachine(t, folder).startWith(t, metadatatest.NewSettings(tel), stored, gw)
		n, _ := q.counter.pending.Count(0)
		assert.Equal(t, 1, n)
		time.Sleep(time.Hour + 2*time.Minute)
		n, _ = q.counter.pending.Count(0)
		assert.Zero(t, n)
		got, err := tel.GetMetric("otelcol_processor_topk_finals_dropped")
		require.NoError(t, err)
		dropped := map[string]int64{}
		for _, point := range got.Data.(metricdata.Sum[int64]).DataPoints {
			rule, _ := point.Attributes.Value("rule")
			dropped[rule.AsString()] += point.Value
		}
		assert.Equal(t, map[string]int64{"gone": 1, "tenants": 0}, dropped)
		stop(t, q)
		assert.Empty(t, finalsIn(t, folder))
	})
}

func TestRestartAfterRetainCountsWhatExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder, gw := t.TempDir(), &setGateway{}
		m := newMachine(t, folder)
		p := m.start(t, stored, gw)
		require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "a")))
		m.kill(t, p)
		time.Sleep(3 * time.Hour)
		q := newMachine(t, folder).start(t, stored, gw)
		assert.EqualValues(t, 1, q.counter.pending.Dropped[0][uplink.DroppedRetain].Of("tenants"))
		stop(t, q)
		assert.Zero(t, gw.total("tenants"))
	})
}

func TestStorageHasMetricsWhereItIsConfigured(t *testing.T) {
	for yaml, configured := range map[string]bool{tenants: false, stored: true} {
		tel := componenttest.NewTelemetry()
		p := newMachine(t, t.TempDir()).startWith(t, metadatatest.NewSettings(tel), yaml, &setGateway{})
		require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "a")))
		if !configured {
			_, err := tel.GetMetric("otelcol_processor_topk_storage_up")
			require.Error(t, err)
		} else {
			ignore := metricdatatest.IgnoreTimestamp()
			point := func(value int64) []metricdata.DataPoint[int64] {
				return []metricdata.DataPoint[int64]{{Value: value, Attributes: attribute.NewSet()}}
			}
			metadatatest.AssertEqualProcessorTopkStorageUp(t, tel, point(1), ignore)
			metadatatest.AssertEqualProcessorTopkStorageFailures(t, tel, point(0), ignore)
			metadatatest.AssertEqualProcessorTopkStoredDamaged(t, tel, point(0), ignore)
		}
		stop(t, p)
		require.NoError(t, tel.Shutdown(t.Context()))
	}
}
