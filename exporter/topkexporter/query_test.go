package topkexporter

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/rule"
)

func decode[T any](t testing.TB, w *httptest.ResponseRecorder) T {
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	return decodeText[T](t, w.Body.String())
}

func decodeText[T any](t testing.TB, text string) (v T) {
	require.NoError(t, json.Unmarshal([]byte(text), &v), text)
	return v
}

// said is the text of an error.
func said(t testing.TB, w *httptest.ResponseRecorder) string {
	var v struct{ Error string }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &v), w.Body)
	assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
	assert.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	return v.Error
}

func TestErrorsNameWhatIsAllowed(t *testing.T) {
	e := world(t)
	for _, tt := range []struct {
		name, target string
		status       int
		says         string
	}{
		{"no rule of several", "/v1/trending", 400, `rule: several are counted, name one of: "routes", "tenants"`},
		{"unknown rule", "/v1/trending?rule=x", 404, `rule: "x" is not known; known: "routes", "tenants"; a rule is known once a record of it was counted`},
		{"empty rule", "/v1/trending?rule=", 404, `rule: "" is not known; known: "routes", "tenants"; a rule is known once a record of it was counted`},
		{"no window at all", "/v1/trending?rule=tenants&window=soon", 400, `window: "soon" is no window such as 5m, 1h or 24h`},
		{"a window that is no multiple", "/v1/trending?rule=tenants&window=90s", 400, `window: "90s" is no window such as 5m, 1h or 24h`},
		{"unknown window", "/v1/trending?rule=tenants&window=2h", 404, `window: rule "tenants" has no window 2h; it has: 5m, 1h`},
		{"unknown group", "/v1/trending?rule=tenants&group=us", 404, `group: rule "tenants" has no group "us"; it has: "", "eu"`},
		{"group of an ungrouped rule", "/v1/trending?rule=routes&group=eu", 404, `group: rule "routes" has no group_by, so only its global list exists`},
		{"scope of an ungrouped rule", "/v1/trending?rule=routes&scope=missing", 404, `group: rule "routes" has no group_by, so only its global list exists`},
		{"two names of the group", "/v1/trending?rule=tenants&group=eu&region=eu", 400, "group and region are two names of one parameter; give one"},
		{"unknown scope", "/v1/trending?rule=tenants&scope=all", 400, `scope: "all" is not known; allowed: global, group, missing, overflow`},
		{"scope group without a group", "/v1/trending?rule=tenants&scope=group", 400, "scope: group does not go with this query; a group is named by group=, and only by it"},
		{"a group in scope missing", "/v1/trending?rule=tenants&scope=missing&group=eu", 400, "scope: missing does not go with this query; a group is named by group=, and only by it"},
		{"misspelt parameter", "/v1/trending?rule=tenants&windw=5m", 400, `unknown parameter "windw"; allowed: at, format, from, group, k, region, rule, scope, to, window`},
		{"an unknown format", "/v1/trending?rule=tenants&format=csv", 400, `format: "csv" is not allowed; allowed: table, or none, for the list with its coverage`},
		{"misspelt parameter of a count", "/v1/keys/a/count?k=10", 400, `unknown parameter "k"; allowed: at, from, group, region, rule, scope, to, window`},
		{"a parameter where none is taken", "/v1/rules?rule=x", 400, `unknown parameter "rule"; this path takes none`},
		{"a parameter twice", "/v1/trending?rule=tenants&rule=routes", 400, "parameter rule is given 2 times; once is allowed"},
		{"a semicolon", "/v1/trending?rule=tenants;k=1", 400, "query: invalid semicolon separator in query"},
		{"a broken escape", "/v1/trending?rule=%zz", 400, `query: invalid URL escape "%zz"`},
		{"no key", "/v1/count?rule=tenants", 400, "key: missing; give key=, which may be empty"},
		{"a plain key for a composite rule", "/v1/keys/GET/count?rule=routes", 400, `key: rule "routes" counts 2 parts, so the key is a JSON array of 2 texts, such as ["a","b"]`},
		{"too few parts", `/v1/count?rule=routes&key=["a"]`, 400, `key: rule "routes" counts 2 parts, so the key is a JSON array of 2 texts, such as ["a","b"]`},
		{"a part that is a list", `/v1/count?rule=routes&key=["a",[]]`, 400, `key: rule "routes" counts 2 parts, so the key is a JSON array of 2 texts, such as ["a","b"]`},
		{"more than an array", `/v1/count?rule=routes&key=["a","b"]c`, 400, `key: rule "routes" counts 2 parts, so the key is a JSON array of 2 texts, such as ["a","b"]`},
		{"no such path", "/v1/counts", 404, "there is no such path; /openapi.yaml lists what there is"},
		{"a path that would be cleaned", "/v1/../v1/trending", 404, "there is no such path; /openapi.yaml lists what there is"},
		{"the template of a path", "/v1/keys/{key}/count?rule=tenants", 200, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := get(e, strings.ReplaceAll(tt.target, `"`, "%22"))
			require.Equal(t, tt.status, w.Code, w.Body)
			if tt.status != 200 {
				assert.Equal(t, tt.says, said(t, w))
			}
		})
	}
}

func TestMethodsThatAPathTakes(t *testing.T) {
	e := world(t)
	for _, path := range routes {
		target := strings.ReplaceAll(path, "{key}", "a")
		allowed := map[string]string{recountsRoute: "GET, HEAD, POST", jobRoute: "GET, HEAD, DELETE"}[path]
		if allowed == "" {
			allowed = "GET, HEAD"
		}
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions, "BREW"} {
			if strings.Contains(allowed, method) {
				continue
			}
			w := do(e, httptest.NewRequest(method, target, nil))
			require.Equal(t, http.StatusMethodNotAllowed, w.Code, "%s %s", method, target)
			assert.Equal(t, allowed, w.Header().Get("Allow"))
			assert.Equal(t, "method: "+method+" is not allowed; allowed: "+allowed, said(t, w))
		}
	}
	w := do(e, httptest.NewRequest(http.MethodHead, "/v1/trending?rule=tenants", nil))
	assert.Equal(t, http.StatusOK, w.Code)
	assert.Empty(t, w.Body.Bytes())
	assert.Equal(t, fmt.Sprint(get(e, "/v1/trending?rule=tenants").Body.Len()), w.Header().Get("Content-Length"))
}

func TestKIsInRange(t *testing.T) {
	e := shelf(t, summed(tenants(t), 5*time.Minute, rule.Group{}, zipf(t, tenants(t), 5000)))
	for _, k := range []string{"0", "-1", "21", "1e9", "1000000000", "99999999999999999999", "abc", "", "1.0", "+-1", " 1", "0x1", "١"} {
		w := get(e, "/v1/trending?k="+strings.ReplaceAll(strings.ReplaceAll(k, "+", "%2B"), " ", "%20"))
		require.Equal(t, http.StatusBadRequest, w.Code, k)
		assert.Equal(t, fmt.Sprintf("k: %q is not allowed; allowed: whole numbers from 1 to 20", k), said(t, w))
	}
	for k := 1; k <= 20; k++ {
		got := decode[trend](t, get(e, fmt.Sprintf("/v1/trending?k=%d", k)))
		assert.Equal(t, k, got.K)
		assert.Len(t, got.Items, k)
	}
}

func TestDefaults(t *testing.T) {
	d := tenants(t)
	short := counted(t, d, 5*time.Minute, rule.Group{}, map[string]uint64{"a": 1})
	long := counted(t, d, 24*time.Hour, rule.Group{}, map[string]uint64{"a": 9})
	e := shelf(t, long, short)
	got := decode[trend](t, get(e, "/v1/trending"))
	assert.Equal(t, "tenants", *got.Rule, "the only rule")
	assert.Equal(t, "5m", *got.Window, "the shortest window")
	assert.Equal(t, "global", got.Scope)
	assert.Nil(t, got.Group)
	assert.Equal(t, 10, got.K)
	assert.Equal(t, got, decode[trend](t, get(e, "/top?k=10&window=5m&rule=tenants&scope=global")))

	few := shelf(t, counted(t, tenants(t, func(d *rule.Definition) { d.K = 3 }), 5*time.Minute, rule.Group{}, map[string]uint64{"a": 1}))
	assert.Equal(t, 3, decode[trend](t, get(few, "/v1/trending")).K, "the rule's k where it is less than 10")
}

func TestBeforeTheFirstSnapshot(t *testing.T) {
	e := shelf(t)
	for _, target := range []string{"/v1/trending", "/v1/trending?rule=tenants", "/top?window=1h", "/v1/trending?scope=missing", "/v1/trending?group=eu&k=500"} {
		got := decode[trend](t, get(e, target))
		assert.Nil(t, got.Rule)
		assert.Nil(t, got.AsOf)
		assert.True(t, got.Partial)
		assert.False(t, got.Certified)
		assert.Equal(t, []string{"no_snapshot"}, got.PartialReasons)
		assert.Equal(t, []item{}, got.Items)
	}
	c := decode[pointCount](t, get(e, "/v1/keys/a/count"))
	assert.Equal(t, "a", c.Key)
	assert.Nil(t, c.AsOf)
	assert.Equal(t, http.StatusBadRequest, get(e, "/v1/trending?k=501").Code)
	assert.Empty(t, decode[rulesAnswer](t, get(e, "/v1/rules")).Rules)
	assert.Nil(t, decode[statusAnswer](t, get(e, "/v1/status")).AsOf)
}

func TestAnIdleRuleIsAnEmptyCertifiedList(t *testing.T) {
	p := counted(t, tenants(t), 5*time.Minute, rule.Group{}, nil)
	p.AsOf, p.WindowStart, p.pointless = time.Time{}, time.Time{}, true
	got := decode[trend](t, get(shelf(t, p), "/v1/trending?rule=tenants"))
	assert.Nil(t, got.AsOf)
	assert.Empty(t, got.Items)
	assert.True(t, got.Certified)
}
