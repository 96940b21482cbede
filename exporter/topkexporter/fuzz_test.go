package topkexporter

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/wire"
)

// routeOf is the route that a path is answered under.
func routeOf(path string) string {
	if _, isKey := keyOfPath(path); isKey {
		return keyRoute
	}
	if slices.Contains(routes[:], path) {
		return path
	}
	return ""
}

// FuzzHandler: whatever the request line says, the answer is one that openapi.yaml describes.
func FuzzHandler(f *testing.F) {
	for _, key := range hostile {
		f.Add("/v1/keys/"+url.PathEscape(key)+"/count", "rule=tenants")
		f.Add("/v1/keys/"+key+"/count", "rule=routes")
		f.Add("/v1/count", "rule=tenants&key="+url.QueryEscape(key))
		f.Add("/v1/count", "rule=routes&key="+url.QueryEscape(`["`+key+`",1]`))
	}
	for _, query := range []string{"", "rule=tenants&window=60m&k=20", "rule=tenants&scope=missing", "region=eu&rule=tenants", "at=1&k=-1", "window=9223372036854775807h"} {
		f.Add("/v1/trending", query)
		f.Add("/top", query)
		f.Add("/v1/status", query)
		f.Add("/v1//trending/../x", query)
	}
	for _, query := range []string{
		"at=2026-01-02T09:30:00Z&k=3", "at=1767344400&window=24h&group=us", "at=2026-01-02T13:30:00.5%2B02:00&region=eu", "at=&window=60m", "at=-1",
		"at=9223372036854775807", "at=1e9&at=1", "from=2026-01-02T08:00:00Z&to=2026-01-02T12:00:00Z", "from=0&to=3600&scope=missing",
		"from=1767340800&to=1767355200&scope=overflow", "to=0&from=0", "from=2262-04-11T22:00:00Z&to=0", "at=0&from=0", "to=9999-12-31T23:59:59Z&from=1",
	} {
		f.Add("/v1/trending", "rule=tenants&"+query)
		f.Add("/v1/keys/tenant-001/count", "rule=tenants&"+query)
		f.Add("/v1/count", "rule=routes&key=[\"a\",\"b\"]&"+query)
	}
	e := world(f)
	d := description(f)
	f.Fuzz(func(t *testing.T, path, query string) {
		line := "GET " + path + "?" + query + " HTTP/1.1\r\nHost: x\r\n\r\n"
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(line)))
		if err != nil {
			return // the server never hands it on
		}
		w := do(e, r)
		if route := routeOf(r.URL.EscapedPath()); route != "" && r.Method == http.MethodGet {
			check(t, d, route, w)
			return
		}
		require.Contains(t, []int{http.StatusNotFound, http.StatusMethodNotAllowed}, w.Code)
		var body any
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
		assert.NoError(t, d.Components.Schemas["Error"].Value.VisitJSON(body, openapi3.MultiErrors()))
	})
}

// FuzzOrder: whatever the body of a recount says, the answer is one that is described, and no fault of ours.
func FuzzOrder(f *testing.F) {
	for _, body := range []string{
		`{"rule":"tenants","from":1767351600,"to":"2026-01-02T12:00:00Z","keys":["a",1,true,""],"group":"eu","reason":"x"}`,
		`{"rule":"routes","from":0,"to":3600,"keys":[["a","b"],"[1,2]",[]],"k":null}`, `{"rule":"points"}`, `{"rule":null,"scope":"missing","k":"7"}`,
		`{"keys":[{}],"from":1e300}`, `[]`, `null`, `{"from":{}}`, `{"k":-1}`, `{"from":"9999-12-31T23:59:59Z","to":"0000-01-01T00:00:00Z"}`,
	} {
		f.Add(body)
	}
	e := recountingBy(f, tally10)
	d := description(f)
	f.Fuzz(func(t *testing.T, body string) {
		r := httptest.NewRequest(http.MethodPost, recountsRoute, strings.NewReader(body))
		r.Host = "localhost"
		r.Header.Set("Content-Type", typeJSON)
		w := do(e, r)
		require.NotEqual(t, http.StatusServiceUnavailable, w.Code)
		checkCall(t, d, http.MethodPost, recountsRoute, w)
	})
}

// FuzzStored: what cannot be a stored list or the index of an hour is refused, and what can reads back as it was.
func FuzzStored(f *testing.F) {
	e := world(f)
	for _, l := range e.store.catalog().rules["tenants"].lists {
		f.Add(encoded(f, l))
	}
	for _, era := range e.store.history.rules["tenants"].eras {
		for _, at := range era.hours {
			f.Add(at.encode(era))
		}
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, value []byte) {
		if l, err := decodeList(value); err == nil {
			again, err := decodeList(encoded(t, l))
			require.NoError(t, err)
			assert.Equal(t, l.Snapshot, again.Snapshot)
			assert.True(t, l.received.Equal(again.received))
		}
		var bodies wire.Bodies
		if x, err := decodeIndex(value, &bodies); err == nil {
			h := newHistory(newMemory(), defaultKeep, historyStored)
			rollups := map[string]int{}
			for i := range x.entries {
				rollups[newEra(x.definition).rollupKey(x.start, x.entries[i].slot)] = 0
			}
			h.restoreHour(x, rollups)
			era := h.rules[x.definition.Name].eras[0]
			again, err := decodeIndex(era.hours[0].encode(era), &bodies)
			require.NoError(t, err)
			assert.LessOrEqual(t, len(again.entries), len(x.entries))
			assert.Equal(t, x.start, again.start)
			assert.Equal(t, x.reasons, again.reasons)
		}
	})
}
