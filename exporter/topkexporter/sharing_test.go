package topkexporter

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
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
	"github.com/otel-topk/collector/exporter/topkexporter/internal/shared"
	"github.com/otel-topk/collector/internal/rule"
)

// sharingAt makes a configuration share lists at a server.
func sharingAt(address string, read bool) func(*Config) {
	return func(config *Config) {
		r := config.Redis.GetOrInsertDefault()
		r.Endpoint, r.Read, r.PollInterval = address, read, 100*time.Millisecond
	}
}

// sharer shares lists at a server, and serves no port.
func sharer(t *testing.T, address string, read bool) *topkExporter {
	config := createDefaultConfig().(*Config)
	sharingAt(address, read)(config)
	e, err := newExporter(config, exportertest.NewNopSettings(typ))
	require.NoError(t, err)
	require.NoError(t, e.open(t.Context(), componenttest.NewNopHost()))
	t.Cleanup(func() { require.NoError(t, e.shutdown(context.Background())) })
	return e
}

// secondsLater is p some seconds after noon.
func secondsLater(seconds int, p published) published {
	p.AsOf = noon.Add(time.Duration(seconds) * time.Second)
	return p
}

// What two writers do in whatever order, with clocks that differ: at a reader as_of never goes back, and readers agree as soon as
// nothing changes.
func TestAtReadersAsOfNeverGoesBackAndReadersAgreeWhateverWritersDo(t *testing.T) {
	const lists, steps = 60, 8
	random := rand.Uint64()
	t.Log("seed", random)
	rng := rand.New(rand.NewPCG(random, 0))
	server := miniredis.RunT(t)
	writers := []*topkExporter{sharer(t, server.Addr(), false), sharer(t, server.Addr(), false)}
	readers := []*topkExporter{sharer(t, server.Addr(), true), sharer(t, server.Addr(), true)}
	clocks := make([][2]int, lists) // as_of of each writer
	last := make([][2]time.Time, lists)
	look := func() {
		for j, r := range readers {
			for i := range lists {
				if l := r.store.list(fmt.Sprint("rule", i), fiveMinutes); l != nil {
					assert.False(t, l.AsOf.Before(last[i][j]), "list %d: %v after %v", i, l.AsOf, last[i][j])
					last[i][j] = l.AsOf
				}
			}
		}
	}
	for step := range steps {
		for by, w := range writers {
			var all []published
			for i := range lists {
				if clocks[i][by] += rng.IntN(12); step == steps-1 {
					clocks[i][by] = 1000
				}
				weights := map[string]uint64{"a": rng.Uint64N(10) + 1}
				all = append(all, secondsLater(clocks[i][by], counted(t, tenants(t, called(fmt.Sprint("rule", i))), 5*time.Minute, rule.Group{}, weights)))
			}
			before := w.sharing.writer.Written.Load() + w.sharing.writer.Kept.Load()
			require.NoError(t, w.consumeLogs(t.Context(), logs(t, all...)))
			require.Eventually(t, func() bool {
				look()
				return w.sharing.writer.Written.Load()+w.sharing.writer.Kept.Load() >= before+lists && w.sharing.writer.Waiting() == 0
			}, 20*time.Second, time.Millisecond)
		}
	}
	for i := range lists {
		name := fmt.Sprint("rule", i)
		larger := max(writers[0].store.list(name, fiveMinutes).Total, writers[1].store.list(name, fiveMinutes).Total)
		var want trend
		assert.Eventually(t, func() bool {
			text, err := server.Get("topk:list:" + name + ":5m:global")
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal([]byte(text), &want))
			return want.Total == larger
		}, 20*time.Second, time.Millisecond, "the larger total of two that are equally new")
		for _, r := range readers {
			assert.Eventually(t, func() bool {
				look()
				l := r.store.list(name, fiveMinutes)
				return l != nil && l.Total == want.Total && *utc(l.AsOf) == *want.AsOf
			}, 20*time.Second, time.Millisecond, name)
		}
	}
}

func TestARedisThatLostItsListsGetsAllOfThem(t *testing.T) {
	server := miniredis.RunT(t)
	w := sharer(t, server.Addr(), false)
	a := counted(t, tenants(t), 5*time.Minute, rule.Group{}, map[string]uint64{"a": 7})
	b := counted(t, tenants(t, called("second")), 5*time.Minute, rule.Group{}, map[string]uint64{"b": 8})
	require.NoError(t, w.consumeLogs(t.Context(), logs(t, a, b)))
	both := func() bool {
		return server.Exists("topk:list:tenants:5m:global") && server.Exists("topk:list:second:5m:global")
	}
	require.Eventually(t, both, 20*time.Second, time.Millisecond)
	server.Close()
	server.FlushAll()
	require.NoError(t, server.Restart())
	require.NoError(t, w.consumeLogs(t.Context(), logs(t, a)))
	assert.Eventually(t, both, 20*time.Second, time.Millisecond, "those too that were not published since")
}

func TestAReaderServesWhatIsThereFromItsFirstAnswerOn(t *testing.T) {
	server := miniredis.RunT(t)
	w := sharer(t, server.Addr(), false)
	var all []published
	for i := range 250 {
		all = append(all, counted(t, tenants(t, called(fmt.Sprint("rule", i))), 5*time.Minute, rule.Group{}, map[string]uint64{"a": 7}))
	}
	require.NoError(t, w.consumeLogs(t.Context(), logs(t, all...)))
	require.Eventually(t, func() bool {
		names, _ := server.ZMembers("topk:lists")
		return len(names) == 250
	}, 20*time.Second, time.Millisecond)
	r := sharer(t, server.Addr(), true)
	for i := range 250 {
		assert.Equal(t, http.StatusOK, get(r, fmt.Sprint("/v1/trending?rule=rule", i)).Code)
	}
	assert.Equal(t, http.StatusNotFound, get(r, "/v1/trending?rule=unknown").Code)
}

func TestAReaderThatFoundNothingAnswersWithoutItems(t *testing.T) {
	gone := miniredis.RunT(t)
	nowhere := gone.Addr()
	gone.Close()
	for name, address := range map[string]string{"an empty Redis": miniredis.RunT(t).Addr(), "no Redis": nowhere} {
		t.Run(name, func(t *testing.T) {
			r := sharer(t, address, true)
			for _, query := range []string{"", "?rule=tenants&window=1h", "?rule=any&group=eu"} {
				answer := get(r, "/v1/trending"+query)
				assert.Equal(t, http.StatusOK, answer.Code)
				assert.Contains(t, answer.Body.String(), `"as_of":null`)
				assert.Contains(t, answer.Body.String(), `"partial_reasons":["no_snapshot"]`)
				assert.Contains(t, answer.Body.String(), `"items":[]`)
			}
			assert.JSONEq(t, `{"rules":[]}`, get(r, "/v1/rules").Body.String())
		})
	}
}

func TestTelemetryOfRedis(t *testing.T) {
	server := miniredis.RunT(t)
	tel := componenttest.NewTelemetry()
	set := metadatatest.NewSettings(tel)
	core, logged := observer.New(zap.InfoLevel)
	set.Logger = zap.New(core)
	config := createDefaultConfig().(*Config)
	sharingAt(server.Addr(), false)(config)
	e, err := newExporter(config, set)
	require.NoError(t, err)
	require.NoError(t, e.open(t.Context(), componenttest.NewNopHost()))
	require.NoError(t, server.Set("topk:publication:second:5m:global", "somebody else's"))
	list := func(name string) published {
		return counted(t, tenants(t, called(name)), 5*time.Minute, rule.Group{}, map[string]uint64{"secret": 7})
	}
	w := e.sharing.writer
	for range 3 { // one that is refused, again and again
		written, refused := w.Written.Load(), w.Refused.Load()
		require.NoError(t, e.consumeLogs(t.Context(), logs(t, list("tenants"), list("second"))))
		require.Eventually(t, func() bool { return w.Refused.Load() > refused && w.Written.Load() > written }, 20*time.Second, time.Millisecond)
	}
	require.Eventually(t, func() bool { return w.Written.Load() == 4 && w.Refused.Load() == 4 }, 20*time.Second, time.Millisecond, "the first ones twice")
	point := func(key, name string, n int64) metricdata.DataPoint[int64] {
		return metricdata.DataPoint[int64]{Value: n, Attributes: attribute.NewSet(attribute.String(key, name))}
	}
	metadatatest.AssertEqualExporterTopkRedisLists(t, tel, []metricdata.DataPoint[int64]{
		point("outcome", "written", 4), point("outcome", "kept", 0), point("outcome", "read", 0), point("outcome", "refused", 4),
	}, metricdatatest.IgnoreTimestamp())
	metadatatest.AssertEqualExporterTopkRedisUp(t, tel, value(1), metricdatatest.IgnoreTimestamp())

	server.SetError("WRONGPASS invalid username-password pair or user is disabled.")
	require.NoError(t, e.consumeLogs(t.Context(), logs(t, list("tenants"))))
	require.Eventually(t, func() bool { return w.Failures()[shared.Denied] > 0 }, 20*time.Second, time.Millisecond)
	metadatatest.AssertEqualExporterTopkRedisUp(t, tel, value(0), metricdatatest.IgnoreTimestamp())
	metadatatest.AssertEqualExporterTopkRedisFailures(t, tel, []metricdata.DataPoint[int64]{
		point("kind", "timeout", 0), point("kind", "connection", 0), point("kind", "denied", 1), point("kind", "unwritable", 0),
		point("kind", "busy", 0), point("kind", "other", 0),
	}, metricdatatest.IgnoreTimestamp(), metricdatatest.IgnoreValue())
	var messages []string
	for _, entry := range logged.All() {
		messages = append(messages, entry.Message)
		assert.NotContains(t, fmt.Sprint(entry.ContextMap()), "secret")
	}
	assert.Equal(t, []string{
		"A list cannot be shared; the others are, and it is tried again when it is published again", "Redis fails; lists go on from memory",
	}, messages, "once each")
	require.NoError(t, e.shutdown(t.Context()))
	require.NoError(t, tel.Shutdown(t.Context()))
}
