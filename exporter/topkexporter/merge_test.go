package topkexporter

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
)

// merged is whether asking for the span merges: whether it needs a place among those who do.
func merged(t *testing.T, e *topkExporter, target string) bool {
	t.Helper()
	for range mostMerges {
		e.store.history.merges <- struct{}{}
	}
	defer func() {
		for range mostMerges {
			<-e.store.history.merges
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := do(e, httptest.NewRequest(http.MethodGet, target, nil).WithContext(ctx))
	require.Contains(t, []int{http.StatusOK, http.StatusTooManyRequests}, w.Code, w.Body)
	return w.Code != http.StatusOK
}

func TestASpanIsMergedAgainOnlyWhenOneOfItsHoursChanges(t *testing.T) {
	d := tenants(t)
	e := opened(t, &disk{}, func(c *Config) { c.Keep = 6 * time.Hour })
	now := noon.Add(time.Minute)
	e.handler.now = func() time.Time { return now }
	later := func(hour, minutes int) {
		r := hourly(t, d, hourAt(hour), map[string]uint64{"a": uint64(minutes + 1)})
		r.AsOf = r.AsOf.Add(time.Duration(minutes) * time.Minute)
		e.store.takeRollups(t, now, r)
	}
	for hour := -3; hour <= 0; hour++ {
		later(hour, 0)
	}
	target := "/v1/trending?from=" + at(hourAt(-3)) + "&to=" + at(hourAt(0))
	day := "/v1/trending?window=24h&at=" + at(hourAt(0))
	ask := func(target string) *httptest.ResponseRecorder { return get(e, target) }
	for _, target := range []string{target, day} {
		assert.True(t, merged(t, e, target))
		first := ask(target)
		assert.Equal(t, cacheLists, first.Header().Get("Cache-Control"))
		assert.Regexp(t, `^"[0-9a-f]{32}"$`, first.Header().Get("ETag"))
		assert.False(t, merged(t, e, target))
		assert.False(t, merged(t, e, target+"&k=3"), "of any length")
		assert.Equal(t, first.Header().Get("ETag"), ask(target).Header().Get("ETag"))
	}
	assert.False(t, merged(t, e, "/v1/count?key=a&from="+at(hourAt(-3))+"&to="+at(hourAt(0))), "and for counts")
	before := ask(target)

	later(0, 5)
	assert.False(t, merged(t, e, target), "another hour changed")
	assert.True(t, merged(t, e, day))
	ask(day)
	later(-2, 5)
	assert.True(t, merged(t, e, target))
	assert.NotEqual(t, before.Header().Get("ETag"), ask(target).Header().Get("ETag"))

	ask(day)
	now = noon.Add(time.Hour + rollUpDelay)
	assert.True(t, merged(t, e, day), "an hour has passed that was open")
	assert.Contains(t, ask(day).Body.String(), reasonMissing)

	ask(target)
	e.store.tend(t.Context(), noon.Add(5*time.Hour+time.Minute))
	assert.Equal(t, []int{-1, 0}, kept(e, "tenants"))
	assert.True(t, merged(t, e, target), "hours are gone")
	assert.Equal(t, []string{reasonMissing}, decode[trend](t, ask(target)).PartialReasons)
	e.store.tend(t.Context(), noon.Add(100*time.Hour))
	assert.Equal(t, http.StatusOK, ask(target).Code)
}

func TestMoreSpansThanMayBeMergedAtOnceAreToldToComeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := opened(t, &disk{})
		e.store.takeRollups(t, noon, hourly(t, tenants(t), elevenOClock, map[string]uint64{"a": 1}))
		for range mostMerges {
			e.store.history.merges <- struct{}{}
		}
		began := time.Now()
		w := get(e, "/v1/trending?at="+at(elevenOClock))
		assert.Equal(t, mergePatience, time.Since(began))
		require.Equal(t, http.StatusTooManyRequests, w.Code)
		assert.Equal(t, "1", w.Header().Get("Retry-After"))
		assert.Equal(t, "as many spans of the past are being merged as may be at once; ask again in a second", said(t, w))
		assert.Equal(t, http.StatusOK, get(e, "/v1/status").Code)

		done := make(chan int)
		go func() { done <- get(e, "/v1/trending?at="+at(elevenOClock)).Code }()
		synctest.Wait()
		<-e.store.history.merges
		assert.Equal(t, http.StatusOK, <-done, "who waits gets the place that becomes free")
		for range mostMerges - 1 {
			<-e.store.history.merges
		}
	})
}

func TestMergedSpansStayWithinTheirBound(t *testing.T) {
	d := tenants(t)
	e := opened(t, &disk{})
	c := &e.store.history.cache
	c.most = 256 << 10
	for hour := range 24 {
		roll(t, e, rollup(d, hourAt(hour-23), rule.Group{}, zipf(t, d, 500)))
		get(e, "/v1/trending?at="+at(hourAt(hour-23)))
		assert.LessOrEqual(t, c.bytes, c.most)
	}
	assert.Greater(t, len(c.spans), 3)
	assert.Less(t, len(c.spans), 24)
	assert.False(t, merged(t, e, "/v1/trending?at="+at(hourAt(0))), "the newest is kept")
	assert.True(t, merged(t, e, "/v1/trending?at="+at(hourAt(-23))))
	c.most = 1
	get(e, "/v1/trending?at="+at(hourAt(-23)))
	assert.Len(t, c.spans, 1, "one of any size")
}

// TestThePastIsReadWhileItChanges: each answer is of whole roll-ups, and its weights carry one factor an hour.
func TestThePastIsReadWhileItChanges(t *testing.T) {
	d := tenants(t)
	e := opened(t, &disk{}, func(c *Config) { c.Keep = 3 * time.Hour })
	e.handler.now = func() time.Time { return noon.Add(24 * time.Hour) }
	put := func(hour window.Minute, version int) {
		n := uint64(version + 1)
		r := hourly(t, d, hour, map[string]uint64{"a": 3 * n, "b": 2 * n, "c": n})
		r.AsOf = r.AsOf.Add(time.Duration(version) * time.Second)
		e.store.takeRollups(t, noon.Add(24*time.Hour), r)
	}
	put(hourAt(0), 0)
	var readers sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				list := decode[trend](t, get(e, "/v1/trending?from="+at(hourAt(0))+"&to="+at(hourAt(3))))
				if len(list.Items) > 0 {
					assert.Equal(t, list.Total, 2*list.Items[0].Estimate)
				}
				get(e, "/v1/status")
				get(e, "/v1/keys/a/count?at="+at(hourAt(0)))
			}
		})
	}
	for n := range 60 {
		put(hourAt(n/10), n)
		e.store.tend(t.Context(), noon.Add(24*time.Hour))
	}
	close(done)
	readers.Wait()
}
