package topkexporter

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/rule"
)

func description(t testing.TB) *openapi3.T {
	d, err := loadDescription()
	require.NoError(t, err)
	return d
}

var loadDescription = sync.OnceValues(func() (*openapi3.T, error) {
	d, err := openapi3.NewLoader().LoadFromData(files["/openapi.yaml"].body)
	if err != nil {
		return nil, err
	}
	return d, d.Validate(context.Background())
})

func TestEveryRouteIsDescribed(t *testing.T) {
	d := description(t)
	assert.ElementsMatch(t, routes[:], d.Paths.InMatchingOrder())
	for path, item := range d.Paths.Map() {
		require.NotNil(t, item.Get, path)
		methods := []string{http.MethodHead} // as GET
		for method, operation := range item.Operations() {
			methods = append(methods, method)
			assert.NotEmpty(t, operation.Summary, path)
		}
		assert.ElementsMatch(t, methodsOf(path), methods, path)
	}
}

func TestEveryParameterIsDescribed(t *testing.T) {
	d := description(t)
	for path, taken := range map[string][]string{
		"/v1/trending": trendParameters, "/top": trendParameters, "/v1/count": countParameters, keyRoute: listParameters,
		"/v1/rules": nil, "/v1/status": nil, "/v1/audits": auditParameters, recountsRoute: nil, jobRoute: nil,
	} {
		var described []string
		for _, p := range d.Paths.Value(path).Get.Parameters {
			if p.Value.In == "query" {
				described = append(described, p.Value.Name)
			}
			assert.NotEmpty(t, p.Value.Description, p.Value.Name)
		}
		slices.Sort(described)
		assert.ElementsMatch(t, taken, described, path)
	}
	k := d.Components.Parameters["k"].Value.Schema.Value
	assert.EqualValues(t, rule.MaxK, *k.Max)
}

// TestEveryFieldIsDescribed: what the answers' types hold is what the schemas require, no more and no less.
func TestEveryFieldIsDescribed(t *testing.T) {
	schemas := description(t).Components.Schemas
	for name, value := range map[string]any{
		"Trending": trend{}, "Row": row{}, "Item": item{}, "Coverage": coverage{}, "SilentShard": silentShard{}, "Conflict": conflict{},
		"Definition": definition{}, "Count": pointCount{}, "Rules": rulesAnswer{}, "Status": statusAnswer{},
		"History": historyState{}, "RecountState": recountState{}, "Job": jobAnswer{}, "Skipped": rule.Skipped{}, "ExactCount": exactCount{},
		"Audits": auditsAnswer{}, "Audit": auditEntry{}, "AuditedList": auditedList{}, "AuditedGroup": auditedGroup{},
	} {
		checkFields(t, name, schemas[name].Value, reflect.TypeOf(value))
	}
	checkFields(t, "Rules.rules", schemas["Rules"].Value.Properties["rules"].Value.Items.Value, reflect.TypeFor[ruleEntry]())
	checkFields(t, "Jobs.recounts", schemas["Jobs"].Value.Properties["recounts"].Value.Items.Value, reflect.TypeFor[jobHead]())
	checkFields(t, "Status.windows", schemas["Status"].Value.Properties["windows"].Value.Items.Value, reflect.TypeFor[windowState]())
}

func checkFields(t *testing.T, name string, schema *openapi3.Schema, typ reflect.Type) {
	var fields []string
	for _, f := range reflect.VisibleFields(typ) {
		if tag := f.Tag.Get("json"); tag != "" {
			fields = append(fields, tag)
		}
	}
	var described []string
	for field := range schema.Properties {
		described = append(described, field)
	}
	assert.ElementsMatch(t, fields, described, name)
	assert.ElementsMatch(t, fields, schema.Required, name)
	require.NotNil(t, schema.AdditionalProperties.Has, name)
	assert.False(t, *schema.AdditionalProperties.Has, name)
}

// check holds an answer against what is described of its route and status.
func check(t *testing.T, d *openapi3.T, route string, w *httptest.ResponseRecorder) {
	checkCall(t, d, http.MethodGet, route, w)
}

func checkCall(t *testing.T, d *openapi3.T, method, route string, w *httptest.ResponseRecorder) {
	operation := d.Paths.Value(route).GetOperation(method)
	if operation == nil {
		operation = d.Paths.Value(route).Get // which says that only some are allowed
	}
	response := operation.Responses.Status(w.Code)
	require.NotNil(t, response, "%s %d", route, w.Code)
	for name, header := range response.Value.Headers {
		assert.NotEmpty(t, w.Header().Get(name), "%s %s", route, name)
		assert.NoError(t, header.Value.Schema.Value.VisitJSON(w.Header().Get(name)), "%s %s", route, name)
	}
	if w.Code == http.StatusNotModified {
		assert.Empty(t, response.Value.Content)
		return
	}
	kind, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
	media := response.Value.Content.Get(kind)
	require.NotNil(t, media, "%s %d %s", route, w.Code, kind)
	if kind != typeJSON {
		return
	}
	var body any
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
	assert.NoError(t, media.Schema.Value.VisitJSON(body, openapi3.MultiErrors(), openapi3.EnableFormatValidation()), "%s %s", route, w.Body)
}

func TestAnswersAreAsDescribed(t *testing.T) {
	d := description(t)
	start := "start"
	rich := tenants(t, grouped, func(d *rule.Definition) {
		d.Name, d.Default, d.Time, d.Conditions, d.WeightScale = "rich", &start, "start", []string{"true"}, 0.5
		d.Signals = []string{"traces", "metrics"}
	})
	full := world(t)
	require.NoError(t, full.consumeLogs(t.Context(), logs(t, counted(t, rich, time.Hour, rule.Group{}, nil))))
	for state, e := range map[string]*topkExporter{"full": full, "empty": shelf(t)} {
		for _, query := range []string{
			"", "?rule=tenants", "?rule=routes", "?rule=rich", "?rule=x", "?rule=tenants&window=1h", "?rule=tenants&window=2h", "?window=x",
			"?rule=tenants&group=eu", "?rule=tenants&group=", "?rule=tenants&region=us", "?rule=tenants&scope=missing",
			"?rule=tenants&scope=overflow", "?rule=tenants&k=1", "?rule=tenants&k=0", "?key=a", "?rule=tenants&key=a", "?at=x", "?%zz",
		} {
			for _, route := range routes {
				for _, key := range []string{"tenant-001", "", "%5B%22GET%22,%22/cart%22%5D"} {
					target := strings.ReplaceAll(route, "{key}", key) + query
					t.Run(fmt.Sprint(state, " ", target), func(t *testing.T) {
						w := get(e, target)
						check(t, d, route, w)
						if etag := w.Header().Get("ETag"); etag != "" {
							r := httptest.NewRequest(http.MethodGet, target, nil)
							r.Header.Set("If-None-Match", etag)
							check(t, d, route, do(e, r))
						}
						checkCall(t, d, http.MethodPost, route, do(e, httptest.NewRequest(http.MethodPost, target, nil)))
					})
					if route != keyRoute {
						break
					}
				}
			}
		}
	}
}
