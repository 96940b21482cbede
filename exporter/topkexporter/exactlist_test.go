package topkexporter

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/topk"
)

// closing is an exporter that closes the hours of folder at once, and the definition that it counts by.
func closing(t *testing.T, folder string) (exporter.Logs, string, *rule.Definition) {
	settings := recountSettings()
	settings["archive"], settings["memory_limit"], settings["grace"] = "file://"+folder, 16<<20, "0s"
	settings["rules"] = settings["rules"].([]any)[:1]
	config, err := load(t, map[string]any{"recount": settings})
	require.NoError(t, err)
	e, address := started(t, componenttest.NewNopHost(), func(c *Config) { c.Recount = config.Recount })
	r, err := rule.New(config.Recount.Get().Rules[0], rule.SeedOf("pepper"), "pepper", componenttest.NewNopTelemetrySettings())
	require.NoError(t, err)
	return e, "http://" + address, r.Definition()
}

// asked is what url answers, held against the description.
func asked[T any](t *testing.T, url string) T {
	status, text := fetch(t, &http.Client{}, url)
	require.Equal(t, http.StatusOK, status, text)
	route := "/" + strings.SplitN(strings.SplitN(url, "/", 4)[3], "?", 2)[0]
	var body any
	require.NoError(t, json.Unmarshal([]byte(text), &body))
	schema := description(t).Paths.Value(route).Get.Responses.Status(http.StatusOK).Value.Content.Get(typeJSON).Schema.Value
	require.NoError(t, schema.VisitJSON(body), text)
	return decodeText[T](t, text)
}

// exactly asks until the answer is exact.
func exactly(t *testing.T, url string) (a trend) {
	require.Eventually(t, func() bool {
		a = asked[trend](t, url)
		return !a.Approximate
	}, 30*time.Second, 10*time.Millisecond)
	return a
}

func TestAClosedHourIsAnsweredExactly(t *testing.T) {
	folder, hour := t.TempDir(), twoHoursAgo()
	archived(t, folder, hour, map[string]int{"acme": 300, "globex": 200, "initech": 7})
	_, server, d := closing(t, folder)
	when := "at=" + url.QueryEscape(hour.Format(time.RFC3339))
	for _, query := range []string{
		when, when + "&rule=tenants", "window=all",
		"from=" + url.QueryEscape(hour.Format(time.RFC3339)) + "&to=" + url.QueryEscape(hour.Add(time.Hour).Format(time.RFC3339)),
	} {
		a := exactly(t, server+"/v1/trending?"+query)
		assert.Equal(t, "tenants", *a.Rule)
		assert.True(t, a.Certified)
		assert.Empty(t, a.PartialReasons)
		assert.Equal(t, []uint64{507, 507, 507, 3, 0}, []uint64{a.Total, a.TotalUpper, a.Records, a.Distinct, a.Other}, query)
		assert.Equal(t, *utc(hour.Add(time.Hour)), *a.AsOf)
		require.Len(t, a.Items, 3)
		for i, want := range []item{{Key: "acme", Estimate: 300}, {Key: "globex", Estimate: 200}, {Key: "initech", Estimate: 7}} {
			assert.Equal(t, item{
				Rank: i + 1, Key: want.Key, Parts: []string{want.Key}, Estimate: want.Estimate, Lower: want.Estimate,
				Share: float64(want.Estimate) / 507, Certain: true, RankCertain: true,
			}, a.Items[i])
		}
	}
	assert.Contains(t, []string{*utc(hour), *utc(hour.Truncate(24 * time.Hour))}, *exactly(t, server+"/v1/trending?window=all").WindowStart,
		"since there is something, or where that day is over, since it began")
	assert.EqualValues(t, 169, exactly(t, server+"/v1/trending?"+when+"&group=eu").Total)
	assert.Zero(t, exactly(t, server+"/v1/trending?"+when+"&group=nowhere").Total)
	assert.EqualValues(t, 300, exactly(t, server+"/v1/trending?k=1&"+when).Items[0].Estimate)

	for key, want := range map[string]uint64{"acme": 300, "nobody": 0, strings.Repeat("x", 300): 0} {
		for _, query := range []string{when, "window=all"} {
			c := asked[pointCount](t, server+"/v1/count?"+query+"&key="+key)
			assert.False(t, c.Approximate)
			assert.Equal(t, []uint64{want, want, 0}, []uint64{c.Estimate, c.Lower, c.ErrorBound})
		}
	}
	assert.Equal(t, d.Name, *asked[trend](t, server+"/v1/trending?"+when).Rule)
}

// servedHour is what a summary of so many residents counted.
func servedHour(t *testing.T, d *rule.Definition, weights map[string]uint64, residents int) *topk.Summary {
	tiny := *d
	tiny.Residents = residents
	return summaryOf(t, &tiny, weights)
}

func TestWhatWasServedIsAudited(t *testing.T) {
	for name, c := range map[string]struct {
		residents int
		agrees    bool
	}{"by a summary with room": {64, true}, "by a tiny one": {2, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder, hour := t.TempDir(), twoHoursAgo()
			counts, weights := map[string]int{}, map[string]uint64{}
			for i := range 20 {
				key := string(rune('a' + i))
				counts[key], weights[key] = 10+i%11, uint64(10+i%11)
			}
			archived(t, folder, hour, counts)
			e, server, d := closing(t, folder)
			start := window.MinuteOf(hour.UnixNano())
			require.NoError(t, e.ConsumeLogs(t.Context(), rolled(t, rollup(d, start, rule.Group{}, servedHour(t, d, weights, c.residents)))))
			var got auditsAnswer
			require.Eventually(t, func() bool {
				got = asked[auditsAnswer](t, server+"/v1/audits?rule=tenants&window=1h&limit=5")
				return len(got.Audits) > 0
			}, 60*time.Second, 50*time.Millisecond)
			a := got.Audits[0]
			assert.Equal(t, []string{"tenants", "1h", *utc(hour), *utc(hour.Add(time.Hour))}, []string{a.Rule, a.Window, *a.WindowStart, *a.WindowEnd})
			assert.Equal(t, c.agrees, a.Global.Agreement == 1)
			assert.True(t, a.Global.BoundsHeld)
			assert.Equal(t, a.Global.Total, a.Global.ServedTotal)
			assert.Equal(t, 4, a.Lists, "the groups of which nothing was served are compared too")
			assert.Len(t, a.Worst, 3)

			status, text := fetch(t, &http.Client{}, server+"/metrics")
			require.Equal(t, http.StatusOK, status)
			assert.Contains(t, text, `topk_audit_agreement{rule="tenants",window="1h"} 0`)
			assert.Contains(t, text, `topk_audit_disagreements_total{rule="tenants",window="1h"} 1`)
			problems, err := promlint.New(strings.NewReader(text)).Lint()
			require.NoError(t, err)
			assert.Empty(t, problems)
		})
	}
}

func TestQueriesOfAuditsAndOfAllTimeNameWhatIsAllowed(t *testing.T) {
	_, server, d := closing(t, t.TempDir())
	for query, want := range map[string]string{
		"/v1/audits?rule=x":                      `rule: "x" is not among recount.rules; they are: "tenants"`,
		"/v1/audits?window=5m":                   `window: "5m" is not audited; allowed: 1h, 24h`,
		"/v1/audits?limit=0":                     `limit: "0" is not allowed; allowed: whole numbers from 1 to 1000`,
		"/v1/audits?key=a":                       `unknown parameter "key"; allowed: limit, rule, window`,
		"/v1/trending?window=all&rule=x":         `rule: "x" is not known; known: "tenants"; a rule is known once a record of it was counted`,
		"/v1/trending?window=all&scope=overflow": `scope: overflow is not counted exactly: there every group has its own list; allowed: global, group, missing`,
	} {
		status, text := fetch(t, &http.Client{}, server+query)
		assert.Contains(t, []int{http.StatusBadRequest, http.StatusNotFound}, status)
		assert.Contains(t, text, strings.ReplaceAll(want, `"`, `\"`), query)
	}
	a := asked[trend](t, server+"/v1/trending?window=all")
	assert.Equal(t, []string{d.Name, "all"}, []string{*a.Rule, *a.Window})
	assert.Nil(t, a.AsOf)
	assert.Equal(t, []string{reasonPending}, a.PartialReasons)
	none := shelf(t)
	assert.Equal(t, http.StatusNotFound, get(none, "/v1/trending?window=all").Code)
	assert.Equal(t, http.StatusNotFound, get(none, "/v1/audits").Code)
}
