package topkexporter

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otel-topk/collector/exporter/topkexporter/internal/metadatatest"
	"github.com/otel-topk/collector/exporter/topkexporter/internal/recounts"
)

// recountingOn is an exporter that keeps its recounts on d, without its server.
func recountingOn(t *testing.T, d *disk, count recounts.Counter) *topkExporter {
	config, err := load(t, map[string]any{"recount": recountSettings(), "storage": diskID.String()})
	require.NoError(t, err)
	e, err := newExporter(config, exportertest.NewNopSettings(typ))
	require.NoError(t, err)
	e.recounts.count = count
	atHalfPastNoon(e)
	require.NoError(t, e.open(t.Context(), hostOf(d)))
	return e
}

// forever counts until it is stopped.
func forever(ctx context.Context, _ *recounts.Order, _ func(float64, int64)) (*recounts.Result, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestRecountsOutlastARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{}
		e := recountingOn(t, d, tally10)
		path := ordered(t, e, `{"rule":"tenants",`+lastHourBody+`,"keys":["acme"],"reason":"ticket 1"}`)
		synctest.Wait()
		e.recounts.count = forever
		cutOff := ordered(t, e, `{"rule":"tenants",`+lastHourBody+`}`)
		waiting := ordered(t, e, `{"rule":"tenants",`+lastHourBody+`,"k":3}`)
		synctest.Wait()
		want := request(t, e, http.MethodGet, path, "").Body.String()
		require.Contains(t, want, `"status":"done"`)
		require.NoError(t, e.shutdown(t.Context()))
		assert.Len(t, d.keys(recounts.JobPrefix), 3)
		assert.Len(t, d.keys(recounts.ResultPrefix), 1)

		e = recountingOn(t, d, tally10)
		synctest.Wait()
		assert.Equal(t, want, request(t, e, http.MethodGet, path, "").Body.String())
		for _, path := range []string{cutOff, waiting} {
			a := decode[jobAnswer](t, request(t, e, http.MethodGet, path, ""))
			assert.Equal(t, "done", a.Status)
			assert.Equal(t, 1, a.Attempts, "a shutdown is not held against it")
		}
		require.NoError(t, e.shutdown(t.Context()))
	})
}

func TestARecountThatAKillCutOffBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{}
		e := recountingOn(t, d, forever)
		path := ordered(t, e, `{"rule":"tenants",`+lastHourBody+`,"keys":["acme"]}`)
		synctest.Wait()
		after := &disk{values: maps.Clone(d.values)} // as the process left it
		require.NoError(t, e.shutdown(t.Context()))

		e = recountingOn(t, after, tally10)
		synctest.Wait()
		a := decode[jobAnswer](t, request(t, e, http.MethodGet, path, ""))
		assert.Equal(t, "done", a.Status)
		assert.Equal(t, 2, a.Attempts)
		assert.Equal(t, []string{"acme"}, a.Keys)
		require.NoError(t, e.shutdown(t.Context()))
	})
}

func TestAStorageThatTakesNothingStopsNoRecount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{}
		e := recountingOn(t, d, tally10)
		d.turn(errFull)
		path := ordered(t, e, `{"rule":"tenants",`+lastHourBody+`}`)
		synctest.Wait()
		assert.Equal(t, "done", decode[jobAnswer](t, request(t, e, http.MethodGet, path, "")).Status)
		assert.Equal(t, "failing", decode[statusAnswer](t, get(e, "/v1/status")).Storage)
		d.turn(nil)
		e.store.tend(t.Context(), noon)
		assert.Len(t, d.keys(recounts.ResultPrefix), 1)
		require.NoError(t, e.shutdown(t.Context()))
	})
}

func TestWhatIsDamagedOfARecountIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{}
		e := recountingOn(t, d, tally10)
		path := ordered(t, e, `{"rule":"tenants",`+lastHourBody+`,"keys":["acme"]}`)
		lost := ordered(t, e, `{"rule":"tenants",`+lastHourBody+`}`)
		synctest.Wait()
		require.NoError(t, e.shutdown(t.Context()))
		d.spoil(recounts.ResultPrefix+path[len(recountsRoute)+1:], recounts.JobPrefix+lost[len(recountsRoute)+1:])

		e = recountingOn(t, d, tally10)
		a := decode[jobAnswer](t, request(t, e, http.MethodGet, path, ""))
		assert.Equal(t, "done", a.Status)
		assert.Equal(t, "the result was damaged in storage; ask again", *a.Error)
		assert.Equal(t, []string{"acme"}, a.Keys)
		assert.Equal(t, http.StatusNotFound, request(t, e, http.MethodGet, lost, "").Code)
		assert.EqualValues(t, 2, e.store.storage.depot.Damaged())
		require.NoError(t, e.shutdown(t.Context()))
		assert.Empty(t, d.keys(recounts.ResultPrefix), "a result without its job is of no use")
	})
}

func TestRecountsAreCountedAndLoggedWithoutWhatTheyHold(t *testing.T) {
	tel := componenttest.NewTelemetry()
	core, logged := observer.New(zap.DebugLevel)
	synctest.Test(t, func(t *testing.T) {
		set := metadatatest.NewSettings(tel)
		set.Logger = zap.New(core)
		settings := recountSettings()
		settings["max_waiting"] = 0
		config, err := load(t, map[string]any{"recount": settings})
		require.NoError(t, err)
		e, err := newExporter(config, set)
		require.NoError(t, err)
		e.handler.now = func() time.Time { return noon.Add(30 * time.Minute) }
		e.recounts.count = func(ctx context.Context, o *recounts.Order, progress func(float64, int64)) (*recounts.Result, error) {
			if o.Reason == "secret reason" {
				result, err := tally10(ctx, o, progress)
				result.NotRead = 2
				return result, err
			}
			return forever(ctx, o, progress)
		}
		done := ordered(t, e, `{"rule":"tenants",`+lastHourBody+`,"keys":["secret key"],"group":"secret group","reason":"secret reason"}`)
		synctest.Wait()
		runs := ordered(t, e, `{"rule":"tenants",`+lastHourBody+`}`)
		synctest.Wait()
		assert.Equal(t, http.StatusTooManyRequests, request(t, e, http.MethodPost, recountsRoute, `{"rule":"tenants",`+lastHourBody+`}`).Code)
		assert.Contains(t, get(e, "/metrics").Body.String(), "topk_recounts{state=\"running\"} 1\ntopk_recounts{state=\"waiting\"} 0\n")
		metadatatest.AssertEqualExporterTopkRecountsRunning(t, tel, []metricdata.DataPoint[int64]{{Value: 1}}, metricdatatest.IgnoreTimestamp())
		metadatatest.AssertEqualExporterTopkRecountsWaiting(t, tel, []metricdata.DataPoint[int64]{{Value: 0}}, metricdatatest.IgnoreTimestamp())
		time.Sleep(3 * time.Second)
		request(t, e, http.MethodDelete, runs, "")
		synctest.Wait()
		duration, err := tel.GetMetric("otelcol_exporter_topk_recount_duration")
		require.NoError(t, err)
		points := duration.Data.(metricdata.Histogram[float64]).DataPoints
		require.Len(t, points, 1)
		assert.Equal(t, 3.0, points[0].Sum)
		status := func(name string) metricdata.DataPoint[int64] {
			return metricdata.DataPoint[int64]{Value: 1, Attributes: attribute.NewSet(attribute.String("status", name))}
		}
		metadatatest.AssertEqualExporterTopkRecounts(t, tel, []metricdata.DataPoint[int64]{status("done"), status("canceled"), status("refused")},
			metricdatatest.IgnoreTimestamp())
		metadatatest.AssertEqualExporterTopkRecountLeftOut(t, tel, []metricdata.DataPoint[int64]{{Value: 2}}, metricdatatest.IgnoreTimestamp())
		metadatatest.AssertEqualExporterTopkRecountRecords(t, tel, []metricdata.DataPoint[int64]{{Value: 100}}, metricdatatest.IgnoreTimestamp())
		require.NoError(t, e.shutdown(t.Context()))

		var messages []string
		for _, entry := range logged.All() {
			messages = append(messages, entry.Message)
			assert.NotContains(t, entry.ContextMap(), "reason")
			assert.NotContains(t, fmt.Sprint(entry.ContextMap()), "secret")
		}
		assert.Equal(t, []string{"A recount begins", "A recount has ended", "A recount begins", "A recount has ended"}, messages)
		assert.Equal(t, done[len(recountsRoute)+1:], logged.All()[1].ContextMap()["job_id"])
		assert.Equal(t, "done", logged.All()[1].ContextMap()["status"])
	})
	require.NoError(t, tel.Shutdown(t.Context()))
}

func TestTheStartSaysWhereRecountsComeFromAndWhetherTheyMayBeAskedFor(t *testing.T) {
	for endpoint, want := range map[string][]string{
		"localhost:0": {"Counting exactly what is archived"},
		"0.0.0.0:0": {
			"Counting exactly what is archived",
			"Nobody may ask for recounts: that needs auth, or an endpoint of this machine alone, such as localhost:7070",
		},
	} {
		core, logged := observer.New(zap.InfoLevel)
		set := exportertest.NewNopSettings(typ)
		set.Logger = zap.New(core)
		config, err := load(t, map[string]any{"recount": recountSettings(), "endpoint": endpoint})
		require.NoError(t, err)
		e, err := newExporter(config, set)
		require.NoError(t, err)
		require.NoError(t, e.open(t.Context(), componenttest.NewNopHost()))
		var messages []string
		for _, entry := range logged.All() {
			if !strings.HasPrefix(entry.Message, "The archive has no file") { // of closing hours, which has begun
				messages = append(messages, entry.Message)
			}
		}
		assert.Equal(t, want, messages)
		require.NoError(t, e.shutdown(t.Context()))
	}
}

func TestTheLogNamesTheArchiveWithoutParameters(t *testing.T) {
	core, logged := observer.New(zap.InfoLevel)
	tel := &telemetry{logger: zap.New(core)}
	tel.recountsOpened(&RecountConfig{Archive: "s3://records?region=eu-west-1&kmskeyid=secret"}, true)
	assert.Equal(t, "s3://records", logged.All()[0].ContextMap()["archive"])
}

func TestTheLogSaysWhyARecountFailed(t *testing.T) {
	core, logged := observer.New(zap.InfoLevel)
	set := exportertest.NewNopSettings(typ)
	set.Logger = zap.New(core)
	config, err := load(t, map[string]any{"recount": recountSettings()})
	require.NoError(t, err)
	e, err := newExporter(config, set)
	require.NoError(t, err)
	e.telemetry.recountEnded(recounts.Job{Status: recounts.Failed, Error: "secret"}, recounts.Effort{Cause: "damaged file"})
	entry := logged.All()[0]
	assert.Equal(t, "A recount has failed; /v1/recounts/{job_id} says more", entry.Message)
	assert.Equal(t, "damaged file", entry.ContextMap()["cause"])
	assert.NotContains(t, fmt.Sprint(entry.ContextMap()), "secret")
	require.NoError(t, e.shutdown(t.Context()))
}

func TestADirectoryForWhatIsSpilledMustBeThere(t *testing.T) {
	config, err := load(t, map[string]any{"recount": recountSettings()})
	require.NoError(t, err)
	config.Recount.Get().Directory = filepath.Join(t.TempDir(), "none")
	e, err := newExporter(config, exportertest.NewNopSettings(typ))
	require.NoError(t, err)
	require.ErrorContains(t, e.start(t.Context(), componenttest.NewNopHost()), "recount.directory: ")
	require.NoError(t, e.shutdown(t.Context()))
}
