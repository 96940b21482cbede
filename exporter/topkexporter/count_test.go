package topkexporter

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/rule"
)

// hostile are keys that servers have stumbled over.
var hostile = []string{
	"", "/", "//", "a/b", "%2F", "%2f", "%", "%zz", "?", "#", "+", " ", "a b", "..", ".", "../..", "/..", "a//b", "count", "/count", "a/count",
	"{key}", "&", "=", ";", "a;b", `"`, `\`, "'", "<script>alert(1)</script>", "\u202eabc", "\u0000", "\n", "\u2028", "日本", "🙂", "null", "[]",
	`["a"]`, "a,b", "-", "0", "NaN", strings.Repeat("k", 256), "v1/keys/x/count", "http://x/",
}

func TestEveryKeyIsFoundByPathAndByQuery(t *testing.T) {
	d := tenants(t, func(d *rule.Definition) { d.Residents = 100 })
	weights := map[string]uint64{}
	for i, key := range hostile {
		weights[key] = uint64(1000 + i)
	}
	e := shelf(t, counted(t, d, 5*time.Minute, rule.Group{}, weights))
	server := httptest.NewServer(e.handler)
	defer server.Close()
	for key, weight := range weights {
		for _, target := range []string{"/v1/keys/" + url.PathEscape(key) + "/count", "/v1/count?key=" + url.QueryEscape(key)} {
			response, err := http.Get(server.URL + target)
			require.NoError(t, err, target)
			w := httptest.NewRecorder()
			w.Code = response.StatusCode
			_, err = w.Body.ReadFrom(response.Body)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			got := decode[pointCount](t, w)
			assert.Equal(t, key, got.Key, target)
			assert.Equal(t, weight, got.Estimate, target)
			assert.Equal(t, weight, got.Lower, target)
		}
	}
}

func TestKeysAreAskedForAsTheyAreCounted(t *testing.T) {
	plain := tenants(t, func(d *rule.Definition) { d.MaxKeyBytes = 40 })
	long := strings.Repeat("long", 20)
	broken := "a\xffb"
	pair := tenants(t, composite, called("pairs"), func(d *rule.Definition) { d.MaxKeyBytes = 80 })
	e := shelf(t,
		counted(t, plain, 5*time.Minute, rule.Group{}, map[string]uint64{plain.KeyOf(long): 5, plain.KeyOf(broken): 6}),
		counted(t, pair, 5*time.Minute, rule.Group{}, map[string]uint64{
			pair.KeyOf("a,b", "c"): 1, pair.KeyOf("a", "b,c"): 2, pair.KeyOf("200", "true"): 3, pair.KeyOf("é", ""): 4, pair.KeyOf(long, "x"): 5,
		}))
	for _, tt := range []struct {
		name, rule, asked string
		weight            uint64
		key               string
	}{
		{"longer than max_key_bytes", "tenants", long, 5, plain.KeyOf(long)},
		{"as it stands in the list, cut", "tenants", plain.KeyOf(long), 5, plain.KeyOf(long)},
		{"invalid UTF-8", "tenants", broken, 6, "a\uFFFDb"},
		{"parts that hold the separator", "pairs", `["a,b","c"]`, 1, `["a,b","c"]`},
		{"and the other way round", "pairs", `["a","b,c"]`, 2, `["a","b,c"]`},
		{"other spacing", "pairs", " [ \"a\" ,\n\"b,c\"] ", 2, `["a","b,c"]`},
		{"numbers and bools by their text", "pairs", `[200,true]`, 3, `["200","true"]`},
		{"escapes", "pairs", `["\u00e9",""]`, 4, `["é",""]`},
		{"a composite key that is too long", "pairs", `["` + long + `","x"]`, 5, pair.KeyOf(long, "x")},
		{"as it stands in the list, composite and cut", "pairs", pair.KeyOf(long, "x"), 5, pair.KeyOf(long, "x")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := decode[pointCount](t, get(e, "/v1/count?rule="+tt.rule+"&key="+url.QueryEscape(tt.asked)))
			assert.Equal(t, tt.key, got.Key)
			assert.Equal(t, tt.weight, got.Estimate)
			assert.Equal(t, tt.weight, got.Lower)
			require.NotNil(t, got.Rank)
		})
	}
}

func TestALongKeyWithoutTheSeedIsBoundedByTheWholeList(t *testing.T) {
	d := tenants(t, grouped, func(d *rule.Definition) { d.MaxKeyBytes = 40 })
	long := strings.Repeat("long", 20)
	p := counted(t, d, 5*time.Minute, rule.Group{}, map[string]uint64{d.KeyOf(long): 9, "b": 5})
	p.pointless = true
	got := decode[pointCount](t, get(shelf(t, p), "/v1/count?key="+long))
	assert.Equal(t, uint64(9), got.Estimate)
	assert.Zero(t, got.Lower)
	assert.Nil(t, got.Rank)

	g := counted(t, d, 5*time.Minute, rule.Group{Scope: rule.ScopeGroup, Name: d.GroupOf(long).Name}, map[string]uint64{d.KeyOf(long): 4})
	g.pointless = true
	p.pointless = false
	e := shelf(t, p, g)
	got = decode[pointCount](t, get(e, "/v1/count?group="+long+"&key="+long))
	assert.Equal(t, uint64(4), got.Lower, "the summary of another list of the rule tells how keys and groups are cut")
}

func TestAnUnlistedKeyIsBoundedWithoutASummary(t *testing.T) {
	d := tenants(t, func(d *rule.Definition) { d.K = 2 })
	for _, tt := range []struct {
		name    string
		weights map[string]uint64
		upper   uint64
	}{
		{"the list holds all", map[string]uint64{"a": 9, "b": 8}, 0},
		{"the next one is not listed", map[string]uint64{"a": 9, "b": 8, "c": 7}, 7},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := counted(t, d, 5*time.Minute, rule.Group{}, tt.weights)
			p.pointless = true
			got := decode[pointCount](t, get(shelf(t, p), "/v1/keys/c/count"))
			assert.Equal(t, tt.upper, got.Estimate)
			assert.Equal(t, tt.upper, got.ErrorBound)
			assert.Nil(t, got.Rank)
		})
	}
}

func TestKeyOfPath(t *testing.T) {
	for path, want := range map[string]string{
		"/v1/keys/a/count": "a", "/v1/keys//count": "", "/v1/keys/a/b/count": "a/b", "/v1/keys/..//count": "../", "/v1/keys/count/count": "count",
	} {
		key, ok := keyOfPath(path)
		assert.True(t, ok, path)
		assert.Equal(t, want, key, path)
	}
	for _, path := range []string{"/v1/keys/count", "/v1/keys/", "/v1/keys/a", "/v1/keys", "/v1/keys/a/count/", "/v1/key/a/count"} {
		_, ok := keyOfPath(path)
		assert.False(t, ok, path)
	}
}
