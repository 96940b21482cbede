package topkexporter

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/rule"
)

func TestHeaders(t *testing.T) {
	e := world(t)
	for target, cache := range map[string]string{
		"/v1/trending?rule=tenants":            "max-age=10, stale-while-revalidate=30, stale-if-error=86400",
		"/top?rule=tenants":                    "max-age=10, stale-while-revalidate=30, stale-if-error=86400",
		"/v1/keys/a/count?rule=tenants":        "max-age=10, stale-while-revalidate=30, stale-if-error=86400",
		"/v1/count?rule=tenants&key=a":         "max-age=10, stale-while-revalidate=30, stale-if-error=86400",
		"/v1/rules":                            "max-age=10, stale-while-revalidate=30, stale-if-error=86400",
		"/":                                    "no-cache",
		"/app.js":                              "no-cache",
		"/style.css":                           "no-cache",
		"/openapi.yaml":                        "no-cache",
		"/v1/status":                           "no-store",
		"/healthz":                             "no-store",
		"/metrics":                             "no-store",
		"/v1/trending?rule=unknown":            "no-store",
		"/no/such/path":                        "no-store",
		"/v1/trending?rule=tenants&k=one":      "no-store",
		"/v1/keys/a/count?rule=tenants&k=five": "no-store",
	} {
		w := get(e, target)
		assert.Equal(t, cache, w.Header().Get("Cache-Control"), target)
		assert.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"), target)
		assert.Equal(t, "no-referrer", w.Header().Get("Referrer-Policy"), target)
		assert.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'", target)
		assert.NotContains(t, w.Header().Get("Content-Security-Policy"), "unsafe", target)
		assert.Equal(t, cache == "no-store", w.Header().Get("ETag") == "", target)
	}
}

func TestAnAnswerThatTheClientHasIsNotSentAgain(t *testing.T) {
	d := tenants(t)
	e := shelf(t, counted(t, d, 5*time.Minute, rule.Group{}, map[string]uint64{"a": 1}))
	first := get(e, "/v1/trending")
	etag := first.Header().Get("ETag")
	require.Regexp(t, `^"[0-9a-f]{32}"$`, etag)
	ask := func(have string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "/v1/trending", nil)
		r.Header.Set("If-None-Match", have)
		return do(e, r)
	}
	for have, status := range map[string]int{
		etag: 304, "W/" + etag: 304, "*": 304, `"x", ` + etag: 304, "": 200, `"x"`: 200, strings.Trim(etag, `"`): 200, "W/": 200, ",": 200,
	} {
		w := ask(have)
		require.Equal(t, status, w.Code, have)
		assert.Equal(t, etag, w.Header().Get("ETag"), have)
		assert.Equal(t, first.Header().Get("Cache-Control"), w.Header().Get("Cache-Control"), have)
		if status == 304 {
			assert.Empty(t, w.Body.Bytes(), have)
		}
	}
	again := counted(t, d, 5*time.Minute, rule.Group{}, map[string]uint64{"a": 1})
	require.NoError(t, e.consumeLogs(t.Context(), logs(t, again)))
	assert.Equal(t, http.StatusNotModified, ask(etag).Code, "the same list again has the same ETag")
	changed := counted(t, d, 5*time.Minute, rule.Group{}, map[string]uint64{"a": 2})
	require.NoError(t, e.consumeLogs(t.Context(), logs(t, changed)))
	assert.Equal(t, http.StatusOK, ask(etag).Code)
}

func TestAnswersAreCachedUpToTheirBound(t *testing.T) {
	var c answerCache
	made := 0
	encode := func() *answer {
		made++
		return newAnswer(make([]byte, mostCached/2), typeJSON, cacheLists)
	}
	first := c.get(answerKey{k: 1}, encode)
	assert.Same(t, first, c.get(answerKey{k: 1}, encode))
	c.get(answerKey{k: 2}, encode)
	assert.Equal(t, 2, made)
	c.get(answerKey{k: 3}, encode)
	c.get(answerKey{k: 3}, encode)
	assert.Equal(t, 4, made, "beyond the bound each is encoded anew")
	assert.LessOrEqual(t, c.bytes.Load(), int64(mostCached))
}

// TestReadersSeeWholeCatalogs: while lists are replaced, each answer is of one moment: all its weights carry the same factor.
func TestReadersSeeWholeCatalogs(t *testing.T) {
	d := tenants(t)
	at := func(n uint64) published {
		p := counted(t, d, 5*time.Minute, rule.Group{}, map[string]uint64{"a": 3 * n, "b": 2 * n, "c": n})
		p.AsOf = noon.Add(time.Duration(n) * time.Second)
		return p
	}
	e := shelf(t, at(1))
	var readers sync.WaitGroup
	done := make(chan struct{})
	for i := range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				list := decode[trend](t, get(e, fmt.Sprintf("/v1/trending?k=%d", 1+i)))
				assert.Equal(t, list.Total, 2*list.Items[0].Estimate)
				c := decode[pointCount](t, get(e, "/v1/keys/c/count"))
				stamp, err := time.Parse(time.RFC3339Nano, *c.AsOf)
				assert.NoError(t, err)
				assert.Equal(t, stamp.Sub(noon), time.Duration(c.Estimate)*time.Second)
				get(e, "/metrics")
			}
		})
	}
	for n := range uint64(100) {
		require.NoError(t, e.consumeLogs(t.Context(), logs(t, at(n+2))))
	}
	close(done)
	readers.Wait()
}

func TestRequestsAreCountedByRouteAndCode(t *testing.T) {
	e := world(t)
	get(e, "/v1/keys/a/count?rule=tenants")
	get(e, "/v1/keys//b/count?rule=tenants")
	get(e, "/v1/keys/b/count?rule=x")
	get(e, "/nowhere")
	get(e, "/metrics")
	e.handler.refuse(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil), "no", http.StatusUnauthorized)
	var got []requestCount
	for r := range e.handler.requests.all() {
		got = append(got, r)
	}
	assert.Equal(t, []requestCount{
		{"/metrics", 200, 1}, {"/v1/keys/{key}/count", 200, 2}, {"/v1/keys/{key}/count", 404, 1}, {"other", 401, 1}, {"other", 404, 1},
	}, got)
}
