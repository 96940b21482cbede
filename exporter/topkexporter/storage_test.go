package topkexporter

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otel-topk/collector/exporter/topkexporter/internal/metadatatest"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire"
)

func TestListsOutlastARestart(t *testing.T) {
	d := &disk{}
	first := openedAt(t, hostOf(d))
	require.NoError(t, first.consumeLogs(t.Context(), logs(t, worldLists(t)...)))
	targets := []string{
		"/v1/trending?rule=tenants&k=20", "/v1/trending?rule=tenants&window=1h", "/v1/trending?rule=tenants&group=eu", "/v1/trending?rule=tenants&group=",
		"/v1/trending?rule=tenants&scope=missing", "/v1/trending?rule=routes", "/v1/keys/tenant-999999/count?rule=tenants",
		"/v1/count?rule=tenants&group=eu&key=nobody", "/v1/rules", "/metrics",
	}
	ask := func(e *topkExporter) (bodies []string) {
		for _, target := range targets[:len(targets)-1] {
			bodies = append(bodies, get(e, target).Body.String())
		}
		return append(bodies, fmt.Sprint(scrape(t, e)))
	}
	want := ask(first)
	require.Contains(t, want[0], `"as_of":"2026-01-02T12:00:00Z"`)
	received := first.store.list("tenants", fiveMinutes).received
	require.NoError(t, first.shutdown(t.Context()))

	second := opened(t, d)
	for i, body := range ask(second)[:len(targets)-1] {
		assert.Equal(t, want[i], body, targets[i])
	}
	assert.True(t, received.Equal(second.store.list("tenants", fiveMinutes).received), "when it was published last")
}

func TestAListThatIsRemovedIsNotStoredAnyMore(t *testing.T) {
	d := &disk{}
	e := opened(t, d, func(c *Config) { c.MaxLists = 2 })
	e.store.takeLists([]*wire.Snapshot{groupList(t, "r", "a"), groupList(t, "r", "b")}, nil, noon)
	before := d.keys(listPrefix)
	e.store.takeLists([]*wire.Snapshot{groupList(t, "r", "b"), groupList(t, "q", "c")}, nil, noon.Add(abandoned))
	after := d.keys(listPrefix)
	require.Len(t, after, 2)
	assert.NotElementsMatch(t, before, after)
}

func TestAfterARestartAsManyListsAreServedAsThereMayBe(t *testing.T) {
	d := &disk{}
	e := openedAt(t, hostOf(d))
	for i, name := range []string{"a", "b", "c", "d"} {
		e.store.takeLists([]*wire.Snapshot{groupList(t, "r", name)}, nil, noon.Add(time.Duration(i)*time.Second))
	}
	require.NoError(t, e.shutdown(t.Context()))
	e = opened(t, d, func(c *Config) { c.MaxLists = 2 })
	assert.Equal(t, []string{"c", "d"}, e.store.catalog().rules["r"].groups, "those that came last")
	assert.Equal(t, 2, e.store.catalog().lists)
	assert.Len(t, d.keys(listPrefix), 2)
}

func TestAListIsServedOnceItIsDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{}
		e := opened(t, d)
		d.stuck = make(chan struct{})
		done := make(chan struct{})
		go func() {
			e.store.takeLists([]*wire.Snapshot{groupList(t, "r", "a")}, nil, noon)
			close(done)
		}()
		synctest.Wait()
		assert.Empty(t, e.store.catalog().names, "it is not durable yet")
		close(d.stuck)
		d.mu.Lock()
		d.stuck = nil
		d.mu.Unlock()
		<-done
		assert.Equal(t, []string{"r"}, e.store.catalog().names)
		assert.Len(t, d.keys(listPrefix), 1)
	})
}

func TestAStorageThatHangsHoldsListsUpOnceAndNoReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{}
		host := hostOf(d)
		e := openedAt(t, host)
		stuck := make(chan struct{})
		d.stuck = stuck
		began := time.Now()
		e.store.takeLists([]*wire.Snapshot{groupList(t, "r", "a")}, nil, noon)
		assert.Equal(t, patience, time.Since(began))
		for range 5 {
			e.store.takeLists([]*wire.Snapshot{groupList(t, "r", "b")}, nil, noon)
		}
		assert.Equal(t, patience, time.Since(began), "only the first waits")
		assert.Equal(t, []string{"a", "b"}, e.store.catalog().rules["r"].groups)
		assert.Equal(t, "failing", decode[statusAnswer](t, get(e, "/v1/status")).Storage)
		assert.Contains(t, get(e, "/metrics").Body.String(), "\ntopk_storage_up 0\n")

		d.mu.Lock()
		d.stuck = nil
		d.mu.Unlock()
		close(stuck)
		synctest.Wait()
		time.Sleep(tendEvery)
		synctest.Wait()
		assert.Contains(t, get(e, "/metrics").Body.String(), "\ntopk_storage_up 1\n")
		assert.Equal(t, "up", decode[statusAnswer](t, get(e, "/v1/status")).Storage, "it is tried again without a publication")
		assert.Len(t, d.keys(listPrefix), 2)
		assert.Equal(t, []componentstatus.Status{componentstatus.StatusRecoverableError, componentstatus.StatusOK}, host.reported())
		require.NoError(t, e.shutdown(t.Context()))
	})
}

func TestShutdownDoesNotWaitForAStorageThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{}
		e := openedAt(t, hostOf(d))
		stuck := make(chan struct{})
		d.stuck = stuck
		e.store.takeLists([]*wire.Snapshot{groupList(t, "r", "a")}, nil, noon)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.ErrorIs(t, e.shutdown(ctx), context.DeadlineExceeded)
		close(stuck)
		synctest.Wait()
	})
}

// observed is an exporter on d with its telemetry and its log.
func observed(t *testing.T, host component.Host) (*topkExporter, *componenttest.Telemetry, *observer.ObservedLogs) {
	tel := componenttest.NewTelemetry()
	set := metadatatest.NewSettings(tel)
	core, logged := observer.New(zap.InfoLevel)
	set.Logger = zap.New(core)
	config := createDefaultConfig().(*Config)
	config.Storage = &diskID
	e, err := newExporter(config, set)
	require.NoError(t, err)
	require.NoError(t, e.open(t.Context(), host))
	t.Cleanup(func() {
		require.NoError(t, e.shutdown(context.WithoutCancel(t.Context())))
		require.NoError(t, tel.Shutdown(context.WithoutCancel(t.Context())))
	})
	return e, tel, logged
}

func value(n int64) []metricdata.DataPoint[int64] { return []metricdata.DataPoint[int64]{{Value: n}} }

func TestADiskThatIsFullHidesNothing(t *testing.T) {
	d := &disk{}
	host := hostOf(d)
	e, tel, logged := observed(t, host)
	same := metricdatatest.IgnoreTimestamp()
	publish := func(weight uint64) {
		p := counted(t, tenants(t), 5*time.Minute, rule.Group{}, map[string]uint64{"private": weight})
		require.NoError(t, e.consumeLogs(t.Context(), logs(t, p)))
		hour := hourly(t, tenants(t), elevenOClock, map[string]uint64{"private": weight})
		hour.AsOf = hour.AsOf.Add(time.Duration(weight) * time.Second)
		roll(t, e, hour)
		assert.Equal(t, weight, decode[trend](t, get(e, "/v1/trending?window=5m")).Total)
		assert.Equal(t, weight, decode[trend](t, get(e, "/v1/trending?at="+at(elevenOClock))).Total)
	}
	publish(1)
	metadatatest.AssertEqualExporterTopkStorageUp(t, tel, value(1), same)
	d.turn(errFull)
	for weight := range uint64(5) {
		publish(weight + 2)
	}
	metadatatest.AssertEqualExporterTopkStorageUp(t, tel, value(0), same)
	metadatatest.AssertEqualExporterTopkStorageFailures(t, tel, value(10), same)
	assert.Equal(t, "failing", decode[statusAnswer](t, get(e, "/v1/status")).Storage)
	d.turn(nil)
	publish(7)
	metadatatest.AssertEqualExporterTopkStorageUp(t, tel, value(1), same)
	metadatatest.AssertEqualExporterTopkHistoryRollups(t, tel, value(1), same)
	metadatatest.AssertEqualExporterTopkHistoryBytes(t, tel, value(e.store.history.bytes), same)
	metadatatest.AssertEqualExporterTopkHistoryRemoved(t, tel, value(0), same)
	metadatatest.AssertEqualExporterTopkStoredDamaged(t, tel, value(0), same)
	assert.Equal(t, []componentstatus.Status{componentstatus.StatusRecoverableError, componentstatus.StatusOK}, host.reported())
	require.Equal(t, 2, logged.Len(), "a line for each change")
	assert.Equal(t, "The storage takes nothing: lists go on from memory", logged.All()[0].Message)
	assert.Equal(t, "The storage works again", logged.All()[1].Message)
	assert.NotContains(t, fmt.Sprint(logged.All()), "private")

	again := opened(t, &disk{values: d.values})
	assert.Equal(t, uint64(7), decode[trend](t, get(again, "/v1/trending?window=5m")).Total)
	assert.Equal(t, uint64(7), decode[trend](t, get(again, "/v1/trending?at="+at(elevenOClock))).Total)
}

func TestHoursThatADiskCannotTakeAreGivenUpFromTheOldest(t *testing.T) {
	d := &disk{}
	e := opened(t, d)
	e.store.history.mostNew = 64 << 10
	def := tenants(t)
	weights := map[string]uint64{}
	for i := range def.Residents {
		weights[randomText(200)] = uint64(i + 1)
	}
	take := func(hour int) tally {
		return e.store.takeRollups(t, noon.Add(time.Duration(hour)*time.Hour), hourly(t, def, hourAt(hour), weights))
	}
	take(0)
	take(1)
	d.turn(errFull)
	hours := 2
	for ; e.store.history.size().removed == 0; hours++ {
		take(hours)
		require.Less(t, hours, 20)
	}
	assert.LessOrEqual(t, e.store.history.unwritten, e.store.history.mostNew)
	assert.Equal(t, []int{0, 1, 3}, kept(e, "tenants")[:3], "what is durable stays")
	d.turn(nil)
	e.store.tend(t.Context(), noon.Add(time.Duration(hours)*time.Hour))
	assert.Len(t, d.keys(rollupPrefix), hours-1)
	assert.Zero(t, e.store.history.unwritten)
	assert.Equal(t, tally{taken: 1}, take(2), "the gateway repeats it")
}

func TestAStorageThatCannotBeOpenedIsDoneWithout(t *testing.T) {
	for name, host := range map[string]*diskHost{"read-only": hostOf(&disk{refuses: errFull}), "locked": hostOf(&disk{open: true})} {
		t.Run(name, func(t *testing.T) {
			e, tel, logged := observed(t, host)
			require.NoError(t, e.consumeLogs(t.Context(), logs(t, counted(t, tenants(t), 5*time.Minute, rule.Group{}, map[string]uint64{"a": 7}))))
			roll(t, e, hourly(t, tenants(t), elevenOClock, map[string]uint64{"a": 7}))
			assert.Equal(t, uint64(7), decode[trend](t, get(e, "/v1/trending?window=5m")).Total)
			assert.Equal(t, uint64(7), decode[trend](t, get(e, "/v1/trending?at="+at(elevenOClock))).Total)
			assert.Equal(t, "failing", decode[statusAnswer](t, get(e, "/v1/status")).Storage)
			assert.Contains(t, get(e, "/metrics").Body.String(), "\ntopk_storage_up 0\n")
			metadatatest.AssertEqualExporterTopkStorageUp(t, tel, value(0), metricdatatest.IgnoreTimestamp())
			assert.Equal(t, []componentstatus.Status{componentstatus.StatusRecoverableError}, host.reported())
			require.Equal(t, 1, logged.Len())
			assert.Equal(t, zap.ErrorLevel, logged.All()[0].Level)
			keep, size := e.config.historyBounds(false)
			assert.Equal(t, []int64{int64(keepInMemory), historyInMemory}, []int64{int64(keep), size})
		})
	}
}

func TestAStorageThatCannotBeIsRefused(t *testing.T) {
	for says, host := range map[string]component.Host{
		`storage: there is no extension "disk"`: componenttest.NewNopHost(),
		`storage: "disk" is no storage extension`: hostOf(struct {
			component.StartFunc
			component.ShutdownFunc
		}{}),
	} {
		config := createDefaultConfig().(*Config)
		config.Storage = &diskID
		config.ServerConfig.NetAddr.Endpoint = "localhost:0"
		set, _ := listening()
		e, err := newExporter(config, set)
		require.NoError(t, err)
		assert.ErrorContains(t, e.start(t.Context(), host), says)
		require.NoError(t, e.shutdown(t.Context()))
	}
}

func TestAStartThatFailsLetsTheStorageGo(t *testing.T) {
	d := &disk{}
	config := createDefaultConfig().(*Config)
	config.Storage = &diskID
	config.ServerConfig.NetAddr.Endpoint = "localhost:99999"
	set, _ := listening()
	e, err := newExporter(config, set)
	require.NoError(t, err)
	require.Error(t, e.start(t.Context(), hostOf(d)))
	assert.False(t, d.open)
	require.NoError(t, e.shutdown(t.Context()))
}

func TestNothingStoredIsNoStorage(t *testing.T) {
	e := shelf(t)
	assert.Equal(t, http.StatusOK, get(e, "/v1/status").Code)
	assert.Equal(t, "none", decode[statusAnswer](t, get(e, "/v1/status")).Storage)
}

func TestFileStorageHoldsListsAndPast(t *testing.T) {
	folder := t.TempDir()
	var want []string
	for range 3 {
		host, end := fileStorage(t, folder)
		e := openedAt(t, host)
		if want == nil {
			require.NoError(t, e.consumeLogs(t.Context(), logs(t, worldLists(t)...)))
			roll(t, e, worldPast(t)...)
		}
		e.handler.now = func() time.Time { return noon }
		var got []string
		for _, target := range []string{
			"/v1/trending?rule=tenants&k=20", "/v1/trending?rule=routes", "/v1/trending?rule=tenants&at=2026-01-02T08:00:00Z&window=24h",
			"/v1/trending?rule=tenants&group=us&from=2026-01-02T09:00:00Z&to=2026-01-02T12:00:00Z", "/v1/keys/tenant-999999/count?rule=tenants&at=2026-01-02T11:00:00Z",
		} {
			w := get(e, target)
			require.Equal(t, http.StatusOK, w.Code, w.Body)
			got = append(got, w.Header().Get("ETag"))
		}
		if want == nil {
			want = got
		}
		assert.Equal(t, want, got)
		require.NoError(t, e.shutdown(t.Context()))
		end()
	}
}
