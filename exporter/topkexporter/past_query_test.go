package topkexporter

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/topk"
)

// keptDay is an exporter that holds the hours of the morning until noon, and what is asked for now is at noon.
func keptDay(t testing.TB, d *rule.Definition, edits ...func(*Config)) *topkExporter {
	e := opened(t, &disk{}, edits...)
	for n := range 12 {
		roll(t, e, hourly(t, d, hourAt(n-11), map[string]uint64{"a": 100, "b": uint64(n), "only" + string(rune('a'+n)): 1}))
	}
	e.handler.now = func() time.Time { return noon.Add(3 * time.Minute) }
	return e
}

func TestSpansOfThePast(t *testing.T) {
	e := keptDay(t, tenants(t))
	for _, tt := range []struct {
		name, query string
		window      string
		start, asOf string
		total       uint64
		reasons     []string
	}{
		{"an hour", "at=2026-01-02T11:59:59Z", "1h", "2026-01-02T11:00:00Z", "2026-01-02T12:00:00Z", 112, nil},
		{"the hour that begins then", "at=2026-01-02T11:00:00Z&window=1h", "1h", "2026-01-02T11:00:00Z", "2026-01-02T12:00:00Z", 112, nil},
		{"in seconds", "at=1767351600", "1h", "2026-01-02T11:00:00Z", "2026-01-02T12:00:00Z", 112, nil},
		{"in another zone", "at=2026-01-02T13:30:00.5%2B02:00&window=60m", "1h", "2026-01-02T11:00:00Z", "2026-01-02T12:00:00Z", 112, nil},
		{"a day so far", "at=2026-01-02T05:00:00Z&window=24h", "24h", "2026-01-02T00:00:00Z", "2026-01-02T12:00:00Z", 1278, []string{"open_hour"}},
		{"a day that is not over", "at=2026-01-03T00:00:00Z&window=24h", "24h", "2026-01-03T00:00:00Z", "", 0, []string{"open_hour"}},
		{"a span", "from=2026-01-02T09:00:00Z&to=2026-01-02T11:00:00Z", "2h", "2026-01-02T09:00:00Z", "2026-01-02T11:00:00Z", 221, nil},
		{"a span in seconds", "from=1767344400&to=1767351600", "2h", "2026-01-02T09:00:00Z", "2026-01-02T11:00:00Z", 221, nil},
		{"over midnight", "from=2026-01-01T22:00:00Z&to=2026-01-02T01:00:00Z", "3h", "2026-01-01T22:00:00Z", "2026-01-02T01:00:00Z", 101, []string{"missing_hours"}},
		{"an hour before all", "at=2025-12-24T18:00:00Z", "1h", "2025-12-24T18:00:00Z", "", 0, []string{"missing_hours"}},
		{"the open hour", "at=2026-01-02T12:00:00Z", "1h", "2026-01-02T12:00:00Z", "", 0, []string{"open_hour"}},
		{"the first hour of all", "at=0", "1h", "1970-01-01T00:00:00Z", "", 0, []string{"missing_hours"}},
		{"the last hour of all", "at=2262-04-11T22:00:00Z", "1h", "2262-04-11T22:00:00Z", "", 0, []string{"open_hour"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, rest := range []string{"", "&rule=tenants", "&scope=global"} {
				got := decode[trend](t, get(e, "/v1/trending?"+tt.query+rest))
				require.Equal(t, got, decode[trend](t, get(e, "/top?"+tt.query+rest)))
				assert.Equal(t, "tenants", *got.Rule)
				assert.Equal(t, tt.window, *got.Window)
				assert.Equal(t, tt.start, *got.WindowStart)
				if tt.asOf == "" {
					assert.Nil(t, got.AsOf)
					assert.False(t, got.Certified)
				} else {
					assert.Equal(t, tt.asOf, *got.AsOf)
				}
				assert.Equal(t, tt.total, got.Total)
				assert.Equal(t, filled(tt.reasons), got.PartialReasons)
				assert.Equal(t, tt.reasons != nil, got.Partial)
				assert.True(t, got.Approximate)

				c := decode[pointCount](t, get(e, "/v1/keys/a/count?"+tt.query+rest))
				require.Equal(t, c, decode[pointCount](t, get(e, "/v1/count?key=a&"+tt.query+rest)))
				assert.Equal(t, got.heading, c.heading)
				assert.Equal(t, tt.total/100*100, c.Estimate)
			}
		})
	}
}

func TestQueriesOfThePastNameWhatIsAllowed(t *testing.T) {
	e := keptDay(t, tenants(t), func(c *Config) { c.Keep = 48 * time.Hour })
	noTime := " is no time; allowed: RFC 3339 such as 2026-01-02T15:00:00Z (in an address a plus sign is written %2B), or seconds since 1970"
	noWindow := " is not allowed with at; allowed: 1h, 24h"
	outside := " is out of range; allowed: 1970-01-01T00:00:00Z to 2262-04-11T22:00:00Z"
	for _, tt := range []struct{ query, says string }{
		{"at=", `at: ""` + noTime},
		{"at=yesterday", `at: "yesterday"` + noTime},
		{"at=2026-01-02", `at: "2026-01-02"` + noTime},
		{"at=2026-01-02T11:00:00", `at: "2026-01-02T11:00:00"` + noTime},
		{"at=2026-13-02T11:00:00Z", `at: "2026-13-02T11:00:00Z"` + noTime},
		{"at=2026-01-02T11:00:00+02:00", `at: "2026-01-02T11:00:00 02:00"` + noTime},
		{"at=1e9", `at: "1e9"` + noTime},
		{"at=1.5", `at: "1.5"` + noTime},
		{"at=99999999999999999999", `at: "99999999999999999999"` + noTime},
		{"at=-1", `at: "-1"` + outside},
		{"at=9223372036854775807", `at: "9223372036854775807"` + outside},
		{"at=-9223372036854775808", `at: "-9223372036854775808"` + outside},
		{"at=0001-01-01T00:00:00Z", `at: "0001-01-01T00:00:00Z"` + outside},
		{"at=9999-12-31T23:59:59Z", `at: "9999-12-31T23:59:59Z"` + outside},
		{"at=2262-04-11T22:00:01Z", `at: "2262-04-11T22:00:01Z"` + outside},
		{"at=0&at=1", "parameter at is given 2 times; once is allowed"},
		{"at=0&from=0&to=3600", "at does not go with from and to; give at, or from and to"},
		{"at=0&to=3600", "at does not go with from and to; give at, or from and to"},
		{"from=0", "from and to go together; give both"},
		{"to=0", "from and to go together; give both"},
		{"from=&to=", `from: ""` + noTime},
		{"from=0&to=x", `to: "x"` + noTime},
		{"from=0&to=-3600", `to: "-3600"` + outside},
		{"from=1&to=3600", `from: "1" is no whole hour; allowed next to it: 1970-01-01T00:00:00Z, 1970-01-01T01:00:00Z`},
		{"from=0&to=2026-01-02T11:30:00Z", `to: "2026-01-02T11:30:00Z" is no whole hour; allowed next to it: 2026-01-02T11:00:00Z, 2026-01-02T12:00:00Z`},
		{"from=0&to=2026-01-02T11:30:00%2B05:30", "from and to are 490926h apart; allowed: 1h to 48h, which is as long as hours are kept"},
		{"from=3600&to=3600", "from: must be before to"},
		{"from=7200&to=3600", "from: must be before to"},
		{"from=0&to=176400", "from and to are 49h apart; allowed: 1h to 48h, which is as long as hours are kept"},
		{"from=0&to=2262-04-11T22:00:00Z", "from and to are 2562046h apart; allowed: 1h to 48h, which is as long as hours are kept"},
		{"from=0&to=3600&window=1h", "window does not go with from and to, which say the span; leave it out"},
		{"at=0&window=5m", `window: "5m"` + noWindow},
		{"at=0&window=", `window: ""` + noWindow},
		{"at=0&window=2h", `window: "2h"` + noWindow},
		{"at=0&window=1d", `window: "1d"` + noWindow},
		{"at=0&window=-24h", `window: "-24h"` + noWindow},
		{"at=0&window=9223372036854775807h", `window: "9223372036854775807h"` + noWindow},
		{"at=1767351600&scope=all", `scope: "all" is not known; allowed: global, group, missing, overflow`},
	} {
		for _, path := range []string{"/v1/trending?", "/top?", "/v1/count?key=a&", "/v1/keys/a/count?"} {
			w := get(e, path+tt.query)
			require.Equal(t, http.StatusBadRequest, w.Code, "%s%s: %s", path, tt.query, w.Body)
			assert.Equal(t, tt.says, said(t, w))
		}
	}
	for _, k := range []string{"0", "-1", "21", "1e9", "abc", ""} {
		w := get(e, "/v1/trending?at=1767351600&k="+k)
		require.Equal(t, http.StatusBadRequest, w.Code, k)
		assert.Contains(t, said(t, w), "allowed: whole numbers from 1 to 20")
	}
	for query, says := range map[string]string{
		"rule=x":        `rule: "x" is not known; known: "tenants"; a rule is known once a record of it was counted`,
		"group=eu":      `group: rule "tenants" has no group_by, so only its global list exists`,
		"scope=missing": `group: rule "tenants" has no group_by, so only its global list exists`,
	} {
		w := get(e, "/v1/trending?at=1767351600&"+query)
		require.Equal(t, http.StatusNotFound, w.Code, query)
		assert.Equal(t, says, said(t, w))
	}
}

func TestWithoutAStorageADayMayBeAskedFor(t *testing.T) {
	e := shelf(t)
	roll(t, e, hourly(t, tenants(t), elevenOClock, map[string]uint64{"a": 1}))
	assert.Equal(t, http.StatusOK, get(e, "/v1/trending?from=0&to=86400").Code)
	w := get(e, "/v1/trending?from=0&to=90000")
	require.Equal(t, http.StatusBadRequest, w.Code)
	assert.Equal(t, "from and to are 25h apart; allowed: 1h to 24h, which is as long as hours are kept", said(t, w))
}

func TestThePastOfARuleBeforeAnythingIsKnown(t *testing.T) {
	got := decode[trend](t, get(shelf(t), "/v1/trending?at=0&rule=any"))
	assert.Nil(t, got.Rule)
	assert.Equal(t, []string{"no_snapshot"}, got.PartialReasons)
}

func TestARuleIsKnownByItsListsAndByItsPast(t *testing.T) {
	d := tenants(t, grouped)
	e := opened(t, &disk{})
	require.NoError(t, e.consumeLogs(t.Context(), logs(t, counted(t, d, 5*time.Minute, rule.Group{}, map[string]uint64{"a": 1}))))
	got := decode[trend](t, get(e, "/v1/trending?at=2026-01-02T11:00:00Z"))
	assert.Equal(t, "tenants", *got.Rule)
	assert.Equal(t, []string{"missing_hours"}, got.PartialReasons)
	assert.Equal(t, []item{}, got.Items)
	got = decode[trend](t, get(e, "/v1/trending?at=2026-01-02T11:00:00Z&group=never"))
	assert.Equal(t, "never", *got.Group)
	assert.Equal(t, []string{"missing_hours"}, got.PartialReasons)
	assert.Equal(t, http.StatusBadRequest, get(e, "/v1/trending?at=0&k=21").Code)

	roll(t, e, hourly(t, tenants(t, called("past")), elevenOClock, map[string]uint64{"a": 7}))
	w := get(e, "/v1/trending?at=2026-01-02T11:00:00Z")
	require.Equal(t, http.StatusBadRequest, w.Code)
	assert.Equal(t, `rule: several are counted, name one of: "past", "tenants"`, said(t, w))
	assert.Equal(t, uint64(7), decode[trend](t, get(e, "/v1/trending?rule=past&at=2026-01-02T11:00:00Z")).Total)
	assert.Equal(t, http.StatusNotFound, get(e, "/v1/trending?rule=past").Code, "it has no list of now")
}

func TestLongAndCompositeKeysOfThePastAreFound(t *testing.T) {
	d := tenants(t, composite, func(d *rule.Definition) { d.MaxKeyBytes = 80 })
	long := "/a/very/long/route" + strings.Repeat("/that/is/cut", 10)
	e := opened(t, &disk{})
	roll(t, e, hourly(t, d, elevenOClock, map[string]uint64{d.KeyOf("GET", long): 5, d.KeyOf("GET", "/cart"): 3}))
	for key, weight := range map[string]uint64{`["GET","` + long + `"]`: 5, `["GET", "/cart"]`: 3} {
		got := decode[pointCount](t, get(e, "/v1/count?at=2026-01-02T11:00:00Z&key="+url.QueryEscape(key)))
		assert.Equal(t, []uint64{weight, weight}, []uint64{got.Lower, got.Estimate}, key)
	}
	assert.Equal(t, http.StatusBadRequest, get(e, "/v1/count?at=2026-01-02T11:00:00Z&key=GET").Code)
}

func TestASpanWithTooMuchWeightIsRefused(t *testing.T) {
	d := tenants(t)
	e := opened(t, &disk{})
	roll(t, e,
		hourly(t, d, hourAt(0), map[string]uint64{"a": topk.MaxTotal - 1}), hourly(t, d, hourAt(1), map[string]uint64{"a": 2}))
	w := get(e, "/v1/trending?from="+at(hourAt(0))+"&to="+at(hourAt(2)))
	require.Equal(t, http.StatusBadRequest, w.Code)
	assert.Equal(t, "the weights of this span add up to more than 2^63, which is not counted; ask for fewer hours", said(t, w))
	assert.Equal(t, uint64(topk.MaxTotal-1), decode[trend](t, get(e, "/v1/trending?at="+at(hourAt(0)))).Total)
}
