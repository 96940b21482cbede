package topkexporter

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
