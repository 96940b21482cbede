package topkexporter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/exporter/exportertest"

	"github.com/otel-topk/collector/exporter/topkexporter/internal/recounts"
	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
)

// recountSettings are of three rules: a plain and grouped one, a composite one, and one that counts data points.
func recountSettings() map[string]any {
	return map[string]any{
		"archive": "file:///var/lib/archive", "seed": "pepper",
		"rules": []any{
			map[string]any{
				"name": "tenants", "key": `log.attributes["tenant.id"]`, "group_by": `resource.attributes["cloud.region"]`, "k": 20,
				"accuracy": map[string]any{"epsilon": 0.01, "delta": 0.05, "residents": 64},
			},
			map[string]any{"name": "routes", "key": []any{`span.attributes["method"]`, `span.attributes["route"]`}},
			map[string]any{"name": "points", "key": `datapoint.attributes["host"]`},
		},
	}
}

// recountingBy is an exporter without its server and its archive, at half past noon.
func recountingBy(t testing.TB, count recounts.Counter, edits ...func(*Config)) *topkExporter {
	config, err := load(t, map[string]any{"recount": recountSettings()})
	require.NoError(t, err)
	for _, edit := range edits {
		edit(config)
	}
	e, err := newExporter(config, exportertest.NewNopSettings(typ))
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, errors.Join(e.recounts.stop(context.WithoutCancel(t.Context())), e.shutdown(t.Context())))
	})
	e.recounts.count = count
	atHalfPastNoon(e)
	return e
}

// atHalfPastNoon is when the hour before noon is closed.
func atHalfPastNoon(e *topkExporter) {
	e.handler.now = func() time.Time { return noon.Add(30 * time.Minute) }
	e.recounts.queue.Now = e.handler.now
}

// tally10 counts 10 of each key, or two keys.
func tally10(_ context.Context, o *recounts.Order, progress func(float64, int64)) (*recounts.Result, error) {
	progress(1, 100)
	res := &recounts.Result{
		Weight: 100, Records: 50, Distinct: 7, Files: 2, Missing: []archive.Hour{archive.HourOf(noon.Add(-time.Hour).UnixNano())},
		Skipped: rule.Skipped{Unmatched: 1, MissingKey: 2, BadWeight: 3, Errors: 4, CutKeys: 5, Repaired: 6},
	}
	keys := o.Keys
	if keys == nil {
		keys = []string{"first", "second"}
	}
	for _, key := range keys {
		res.Items = append(res.Items, recounts.Item{Key: key, Weight: 10, Records: 5})
	}
	return res, nil
}

// request one call of recounts, and hold the answer against the description.
func request(t testing.TB, e *topkExporter, method, target, body string, edits ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host = "localhost:7070"
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, edit := range edits {
		edit(r)
	}
	w := do(e, r)
	route := recountsRoute
	if target != recountsRoute {
		route = jobRoute
	}
	if t, ok := t.(*testing.T); ok {
		checkCall(t, description(t), method, route, w)
	}
	return w
}

const lastHourBody = `"from":"2026-01-02T11:00:00Z","to":"2026-01-02T12:00:00Z"`

// ordered starts a recount and returns where to ask for it.
func ordered(t testing.TB, e *topkExporter, body string) (path string) {
	w := request(t, e, http.MethodPost, recountsRoute, body)
	require.Equal(t, http.StatusAccepted, w.Code, w.Body)
	path = w.Header().Get("Location")
	assert.JSONEq(t, fmt.Sprintf(`{"job_id":%q}`, strings.TrimPrefix(path, recountsRoute+"/")), w.Body.String())
	return path
}

func TestARecountIsAskedForAndAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got recounts.Order
		e := recountingBy(t, func(ctx context.Context, o *recounts.Order, progress func(float64, int64)) (*recounts.Result, error) {
			got = *o
			return tally10(ctx, o, progress)
		})
		path := ordered(t, e, `{"rule":"tenants",`+lastHourBody+`,"keys":["acme","nobody","acme",200,true,""],"group":"eu","reason":"ticket 1"}`)
		synctest.Wait()
		want := fmt.Sprintf(`{
			"job_id":%q,"status":"done","progress":1,"rule":"tenants","from":"2026-01-02T11:00:00Z","to":"2026-01-02T12:00:00Z",
			"scope":"group","group":"eu","k":null,"reason":"ticket 1","by":"192.0.2.1","created":"2026-01-02T12:30:00Z",
			"started":"2026-01-02T12:30:00Z","ended":"2026-01-02T12:30:00Z","attempts":1,"error":null,
			"keys":["acme","nobody","200","true",""],"total":100,"records":50,"distinct":null,"files":2,"missing_hours":["2026-01-02T11:00:00Z"],
			"left_out":[],"left_out_files":0,
			"skipped":{"unmatched":1,"missing_key":2,"bad_weight":3,"errors":4,"cut_keys":5,"repaired":6},
			"results":[
				{"rank":null,"key":"acme","parts":["acme"],"count":10,"records":5,"share":0.1},
				{"rank":null,"key":"nobody","parts":["nobody"],"count":10,"records":5,"share":0.1},
				{"rank":null,"key":"200","parts":["200"],"count":10,"records":5,"share":0.1},
				{"rank":null,"key":"true","parts":["true"],"count":10,"records":5,"share":0.1},
				{"rank":null,"key":"","parts":[""],"count":10,"records":5,"share":0.1}]}`, strings.TrimPrefix(path, recountsRoute+"/"))
		assert.JSONEq(t, want, request(t, e, http.MethodGet, path, "").Body.String())
		assert.Equal(t, e.recounts.rules["tenants"].Definition().Fingerprint(), got.Fingerprint)

		top := ordered(t, e, `{"rule":"tenants","from":1767351600,"to":"1767355200","k":2}`)
		synctest.Wait()
		a := decode[jobAnswer](t, request(t, e, http.MethodGet, top, ""))
		assert.Nil(t, a.Keys)
		assert.Equal(t, 2, *a.K)
		assert.Equal(t, "global", a.Scope)
		assert.EqualValues(t, 7, *a.Distinct)
		assert.Equal(t, 2, *a.Results[1].Rank)
		assert.True(t, got.From.Equal(noon.Add(-time.Hour)))
		assert.True(t, got.To.Equal(noon))

		list := decode[jobList](t, request(t, e, http.MethodGet, recountsRoute, ""))
		require.Len(t, list.Recounts, 2)
		assert.Equal(t, a.jobHead, list.Recounts[0])
		assert.Equal(t, recountState{Ended: 2}, *decode[statusAnswer](t, get(e, "/v1/status")).Recounts)
	})
}

func TestKeysOfARecountAreThoseOfCounting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := recountingBy(t, tally10)
		path := ordered(t, e, `{"rule":"routes",`+lastHourBody+`,"keys":[["GET","/cart"],"[\"GET\", \"/cart\"]",["a,b","c"],["a","b,c"],[200,true]]}`)
		synctest.Wait()
		a := decode[jobAnswer](t, request(t, e, http.MethodGet, path, ""))
		assert.Equal(t, []string{`["GET","/cart"]`, `["a,b","c"]`, `["a","b,c"]`, `["200","true"]`}, a.Keys)
		assert.Equal(t, []string{"a,b", "c"}, a.Results[1].Parts)

		long := strings.Repeat("x", 300)
		path = ordered(t, e, `{"rule":"tenants",`+lastHourBody+`,"keys":["`+long+`"],"scope":"missing"}`)
		synctest.Wait()
		a = decode[jobAnswer](t, request(t, e, http.MethodGet, path, ""))
		assert.Equal(t, []string{e.recounts.rules["tenants"].Definition().KeyOf(long)}, a.Keys)
		assert.Equal(t, "missing", a.Scope)
	})
}

// L4, over HTTP.
func TestOfAHundredRecountsAFewRunAndTheOthersWaitOrAreToldToComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		var running, most atomic.Int64
		e := recountingBy(t, func(ctx context.Context, o *recounts.Order, progress func(float64, int64)) (*recounts.Result, error) {
			n := running.Add(1)
			defer running.Add(-1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			<-end
			return tally10(ctx, o, progress)
		}, func(c *Config) { c.Recount.Get().MaxJobs, c.Recount.Get().MaxWaiting = 3, 7 })
		codes := make(chan int, 100)
		for range 100 {
			go func() {
				r := httptest.NewRequest(http.MethodPost, recountsRoute, strings.NewReader(`{"rule":"tenants",`+lastHourBody+`}`))
				r.Host = "127.0.0.1:7070"
				r.Header.Set("Content-Type", "application/json")
				w := do(e, r)
				if w.Code == http.StatusTooManyRequests {
					assert.Equal(t, "30", w.Header().Get("Retry-After"))
					assert.Equal(t, "3 recounts run (recount.max_jobs) and 7 wait (recount.max_waiting); ask again later", said(t, w))
				}
				codes <- w.Code
			}()
		}
		synctest.Wait()
		close(codes)
		got := map[int]int{}
		for code := range codes {
			got[code]++
		}
		assert.Equal(t, map[int]int{202: 10, 429: 90}, got)
		assert.Equal(t, recountState{Running: 3, Waiting: 7}, *decode[statusAnswer](t, get(e, "/v1/status")).Recounts)
		close(end)
		synctest.Wait()
		assert.Equal(t, recountState{Ended: 10}, *decode[statusAnswer](t, get(e, "/v1/status")).Recounts)
		assert.EqualValues(t, 3, most.Load())
	})
}

func TestARecountIsCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := recountingBy(t, func(ctx context.Context, o *recounts.Order, progress func(float64, int64)) (*recounts.Result, error) {
			if o.Reason == "quick" {
				return tally10(ctx, o, progress)
			}
			progress(0.25, 1)
			<-ctx.Done()
			return nil, ctx.Err()
		})
		done := ordered(t, e, `{"rule":"tenants",`+lastHourBody+`,"reason":"quick"}`)
		synctest.Wait()
		path := ordered(t, e, `{"rule":"tenants",`+lastHourBody+`}`)
		synctest.Wait()
		a := decode[jobAnswer](t, request(t, e, http.MethodGet, path, ""))
		assert.Equal(t, "running", a.Status)
		assert.Equal(t, 0.25, a.Progress)
		assert.Nil(t, a.Total)
		for range 2 {
			w := request(t, e, http.MethodDelete, path, "")
			assert.Equal(t, http.StatusOK, w.Code)
			assert.Equal(t, "canceled", decode[jobAnswer](t, w).Status)
		}
		synctest.Wait()
		assert.Equal(t, recountState{Ended: 2}, *decode[statusAnswer](t, get(e, "/v1/status")).Recounts)
		w := request(t, e, http.MethodDelete, done, "")
		assert.Equal(t, http.StatusConflict, w.Code)
		assert.Equal(t, "job: it is done and cannot be canceled; allowed for jobs that are queued or running", said(t, w))
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			w = request(t, e, method, recountsRoute+"/x", "")
			assert.Equal(t, http.StatusNotFound, w.Code)
		}
	})
}

func TestARecountThatFailsSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := recountingBy(t, func(context.Context, *recounts.Order, func(float64, int64)) (*recounts.Result, error) {
			return nil, errors.New("the archive has no file in the range from a to b")
		})
		path := ordered(t, e, `{"rule":"tenants",`+lastHourBody+`}`)
		synctest.Wait()
		a := decode[jobAnswer](t, request(t, e, http.MethodGet, path, ""))
		assert.Equal(t, "failed", a.Status)
		assert.Equal(t, "the archive has no file in the range from a to b", *a.Error)
		assert.Nil(t, a.Total)
		assert.Empty(t, a.Results)
	})
}

// login is what an authenticator knows of who asks.
type login map[string]any

func (l login) GetAttribute(name string) any { return l[name] }

func (l login) GetAttributeNames() []string { return nil }

func TestWhoAsksIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := recountingBy(t, tally10)
		for _, tt := range []struct {
			auth    client.AuthData
			address string
			by      string
		}{
			{login{"subject": "ann", "username": "bob"}, "192.0.2.1:1", "ann"},
			{login{"username": "bob"}, "192.0.2.1:1", "bob"},
			{login{"username": 1}, "192.0.2.1:1", "192.0.2.1"},
			{nil, "[::1]:5", "::1"},
			{nil, "@", ""},
		} {
			w := request(t, e, http.MethodPost, recountsRoute, `{"rule":"tenants",`+lastHourBody+`}`, func(r *http.Request) {
				r.RemoteAddr = tt.address
				*r = *r.WithContext(client.NewContext(r.Context(), client.Info{Auth: tt.auth}))
			})
			require.Equal(t, http.StatusAccepted, w.Code)
			synctest.Wait()
			a := decode[jobAnswer](t, request(t, e, http.MethodGet, w.Header().Get("Location"), ""))
			assert.Equal(t, tt.by, a.By)
		}
	})
}
