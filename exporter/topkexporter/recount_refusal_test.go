package topkexporter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configauth"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/confignet"
	"go.opentelemetry.io/collector/config/configoptional"

	"github.com/otel-topk/collector/internal/rule"
)

func TestARecountThatCannotBeIsRefusedWithWhatIsAllowed(t *testing.T) {
	e := recountingBy(t, tally10)
	many := strings.Repeat(`"a",`, 1000) + `"a"`
	for _, tt := range []struct {
		name, body string
		status     int
		says       string
	}{
		{"no JSON", `rule=tenants`, 400, `body: no JSON object such as {"rule": "tenants", "from": "2026-01-02T10:00:00Z", "to": "2026-01-02T11:00:00Z"}`},
		{"nothing", ``, 400, `body: no JSON object such as {"rule": "tenants", "from": "2026-01-02T10:00:00Z", "to": "2026-01-02T11:00:00Z"}`},
		{"two objects", `{"rule":"tenants",` + lastHourBody + `}{}`, 400, "body: more follows the object; one is allowed"},
		{"an unknown field", `{"rule":"tenants",` + lastHourBody + `,"key":"a"}`, 400, `body: unknown field "key"; allowed: from, group, k, keys, reason, rule, scope, to`},
		{"a field of another type", `{"rule":7,` + lastHourBody + `}`, 400, "rule: a JSON number is not allowed there"},
		{"no rule of several", `{` + lastHourBody + `}`, 400, `rule: several may be recounted, name one of: "points", "routes", "tenants"`},
		{"an unknown rule", `{"rule":"hosts",` + lastHourBody + `}`, 404, `rule: "hosts" is not among recount.rules; they are: "points", "routes", "tenants"`},
		{"data points", `{"rule":"points",` + lastHourBody + `}`, 409, `rule: "points" counts data points, which are not archived; rules over logs and spans may be recounted`},
		{"no range", `{"rule":"tenants"}`, 400, "from and to: missing; from and to are both required, as RFC 3339 such as 2026-01-02T15:00:00Z, or seconds since 1970"},
		{"half a range", `{"rule":"tenants","from":"2026-01-02T11:00:00Z"}`, 400, "to: missing; from and to are both required, as RFC 3339 such as 2026-01-02T15:00:00Z, or seconds since 1970"},
		{"the other half", `{"rule":"tenants","to":1767351600}`, 400, "from: missing; from and to are both required, as RFC 3339 such as 2026-01-02T15:00:00Z, or seconds since 1970"},
		{"milliseconds", `{"rule":"tenants","from":1767351600000,"to":1767355200000}`, 400, `from: "1767351600000" is out of range; allowed: 1970-01-01T00:00:00Z to 2262-04-11T22:00:00Z; seconds since 1970 are meant, not milliseconds`},
		{"after all time", `{"rule":"tenants","from":9999999999999999,"to":1767355200}`, 400, `from: "9999999999999999" is out of range; allowed: 1970-01-01T00:00:00Z to 2262-04-11T22:00:00Z`},
		{"no time", `{"rule":"tenants","from":"yesterday","to":"2026-01-02T11:00:00Z"}`, 400, `from: "yesterday" is no time; allowed: RFC 3339 such as 2026-01-02T15:00:00Z (in an address a plus sign is written %2B), or seconds since 1970`},
		{"an empty range", `{"rule":"tenants","from":"2026-01-02T11:00:00Z","to":"2026-01-02T11:00:00Z"}`, 400, "from: must be before to"},
		{"an inverted range", `{"rule":"tenants","from":"2026-01-02T11:00:00Z","to":"2026-01-02T10:00:00Z"}`, 400, "from: must be before to"},
		{"more than a day", `{"rule":"tenants","from":"2026-01-01T10:00:00Z","to":"2026-01-02T11:00:00Z"}`, 400, "from and to are 25h0m0s apart; allowed: up to 24h, which is recount.max_range"},
		{"the future", `{"rule":"tenants","from":"2026-01-02T13:00:00Z","to":"2026-01-02T14:00:00Z"}`, 400, "from: 2026-01-02T13:00:00Z is in the future"},
		{
			"an hour that is not over", `{"rule":"tenants","from":"2026-01-02T12:00:00Z","to":"2026-01-02T12:10:00Z"}`, 409,
			"to: 2026-01-02T12:10:00Z is in an hour that is not closed; allowed now: up to 2026-01-02T12:00:00Z. An hour is closed 15m0s after it ends, which is recount.grace",
		},
		{"k of none", `{"rule":"tenants",` + lastHourBody + `,"k":0}`, 400, `k: "0" is not allowed; allowed: whole numbers from 1 to 20`},
		{"k beyond the rule's", `{"rule":"tenants",` + lastHourBody + `,"k":21}`, 400, `k: "21" is not allowed; allowed: whole numbers from 1 to 20`},
		{"half a k", `{"rule":"tenants",` + lastHourBody + `,"k":1.5}`, 400, `k: "1.5" is not allowed; allowed: whole numbers from 1 to 20`},
		{"k and keys", `{"rule":"tenants",` + lastHourBody + `,"k":1,"keys":["a"]}`, 400, "k: does not go with keys, each of which is counted; give one of them"},
		{"keys that are no list", `{"rule":"tenants",` + lastHourBody + `,"keys":"a"}`, 400, `keys: a list is needed, such as ["a", "b"], not a JSON string`},
		{"no keys", `{"rule":"tenants",` + lastHourBody + `,"keys":[]}`, 400, "keys: 0; allowed: 1 to 1000, or none at all for the heaviest"},
		{"too many keys", `{"rule":"tenants",` + lastHourBody + `,"keys":[` + many + `]}`, 400, "keys: 1001; allowed: 1 to 1000, or none at all for the heaviest"},
		{"a key that is none", `{"rule":"tenants",` + lastHourBody + `,"keys":[null]}`, 400, `keys: null is no key of rule "tenants"; allowed: texts, and lists of its parts for a key of several`},
		{"a list for a plain key", `{"rule":"tenants",` + lastHourBody + `,"keys":[["a"]]}`, 400, `keys: ["a"] is no key of rule "tenants"; allowed: texts, and lists of its parts for a key of several`},
		{"a plain key of several parts", `{"rule":"routes",` + lastHourBody + `,"keys":["GET"]}`, 400, `key: rule "routes" counts 2 parts, so the key is a JSON array of 2 texts, such as ["a","b"]`},
		{"a group of a rule without", `{"rule":"routes",` + lastHourBody + `,"group":"eu"}`, 404, `group: rule "routes" has no group_by, so only its global list exists`},
		{"overflow", `{"rule":"tenants",` + lastHourBody + `,"scope":"overflow"}`, 400, "scope: overflow is not counted exactly: there every group has its own list; allowed: global, group, missing"},
		{"an unknown scope", `{"rule":"tenants",` + lastHourBody + `,"scope":"all"}`, 400, `scope: "all" is not known; allowed: global, group, missing, overflow`},
		{"a long reason", `{"rule":"tenants",` + lastHourBody + `,"reason":"` + strings.Repeat("x", 1025) + `"}`, 400, "reason: 1025 bytes; allowed: up to 1024"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := request(t, e, http.MethodPost, recountsRoute, tt.body)
			require.Equal(t, tt.status, w.Code, w.Body)
			assert.Equal(t, tt.says, said(t, w))
		})
	}
	assert.Empty(t, e.recounts.queue.Newest(1))
}

func TestAnHourIsClosedWhenItsGraceHasPassed(t *testing.T) {
	e := recountingBy(t, tally10)
	for after, status := range map[time.Duration]int{0: 409, 15*time.Minute - 1: 409, 15 * time.Minute: 202} {
		e.handler.now = func() time.Time { return noon.Add(after) }
		w := request(t, e, http.MethodPost, recountsRoute, `{"rule":"tenants",`+lastHourBody+`}`)
		assert.Equal(t, status, w.Code, after)
		if status == http.StatusConflict {
			assert.Contains(t, said(t, w), "allowed now: up to 2026-01-02T11:00:00Z")
		}
	}
}

func TestTheExamplesOfADescriptionAreTaken(t *testing.T) {
	e := recountingBy(t, tally10)
	examples := description(t).Paths.Value(recountsRoute).Post.RequestBody.Value.Content.Get(typeJSON).Examples
	require.NotEmpty(t, examples)
	for name, example := range examples {
		body, err := json.Marshal(example.Value.Value)
		require.NoError(t, err)
		w := request(t, e, http.MethodPost, recountsRoute, string(body))
		assert.Equal(t, http.StatusAccepted, w.Code, "%s: %s", name, w.Body)
	}
}

func TestTheBodyOfARecountIsJSONAndBounded(t *testing.T) {
	e := recountingBy(t, tally10)
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "json"} {
		w := request(t, e, http.MethodPost, recountsRoute, `{"rule":"tenants",`+lastHourBody+`}`, func(r *http.Request) { r.Header.Set("Content-Type", kind) })
		assert.Equal(t, http.StatusUnsupportedMediaType, w.Code)
		assert.Equal(t, "content type: only application/json is allowed; send the header Content-Type: application/json", said(t, w))
	}
	w := request(t, e, http.MethodPost, recountsRoute, `{"rule":"tenants",`+lastHourBody+`}`, func(r *http.Request) {
		r.Header.Set("Content-Type", "application/json; charset=utf-8")
	})
	assert.Equal(t, http.StatusAccepted, w.Code)
	w = request(t, e, http.MethodPost, recountsRoute, string(bytes.Repeat([]byte(" "), mostOrderBytes+1)))
	assert.Equal(t, http.StatusRequestEntityTooLarge, w.Code)
	w = request(t, e, http.MethodPost, recountsRoute+"?k=1", `{}`)
	assert.Equal(t, http.StatusBadRequest, w.Code)
	assert.Equal(t, `unknown parameter "k"; this path takes none`, said(t, w))
}

func TestRecountsThatAreNotConfiguredSaySo(t *testing.T) {
	e := shelf(t)
	for _, call := range []string{"GET /v1/recounts", "POST /v1/recounts", "GET /v1/recounts/x", "DELETE /v1/recounts/x"} {
		method, target, _ := strings.Cut(call, " ")
		w := request(t, e, method, target, `{}`)
		assert.Equal(t, http.StatusNotFound, w.Code, call)
		assert.Equal(t, "recounts are off: the configuration of the topk exporter has no recount section", said(t, w))
	}
}

func TestRecountsNeedALoginOrAnEndpointOfTheMachineAlone(t *testing.T) {
	login := func(c *Config) {
		c.ServerConfig.Auth = configoptional.Some(confighttp.AuthConfig{Config: configauth.Config{AuthenticatorID: component.MustNewID("basicauth")}})
	}
	at := func(endpoint string) func(*Config) {
		return func(c *Config) { c.ServerConfig.NetAddr.Endpoint = endpoint }
	}
	const off = "recounts are on only where auth is configured, or where endpoint is of this machine alone, such as localhost:7070"
	lied := func(host string) string {
		return fmt.Sprintf("host: %q is no name of this machine; allowed without auth: localhost, 127.0.0.1, [::1]", host)
	}
	for _, tt := range []struct {
		name, host string
		edits      []func(*Config)
		says       string
	}{
		{"the default", "localhost:7070", nil, ""},
		{"the default by its number", "127.0.0.1:7070", nil, ""},
		{"IPv6", "[::1]:7070", []func(*Config){at("[::1]:7070")}, ""},
		{"without a port", "[::1]", []func(*Config){at("127.0.0.2:7070")}, ""},
		{"every interface", "localhost:7070", []func(*Config){at("0.0.0.0:7070")}, off},
		{"every interface, unsaid", "localhost:7070", []func(*Config){at(":7070")}, off},
		{"a name", "gateway:7070", []func(*Config){at("gateway:7070")}, off},
		{"a name that begins alike", "localhost:7070", []func(*Config){at("localhost.example.com:7070")}, off},
		{"every interface, with a login", "gateway:7070", []func(*Config){at("0.0.0.0:7070"), login}, ""},
		{"a socket", "anything", []func(*Config){func(c *Config) {
			c.ServerConfig.NetAddr = confignet.AddrConfig{Endpoint: "/run/topk.sock", Transport: confignet.TransportTypeUnix}
		}}, ""},
		{"a name of the internet that leads here", "evil.example.com:7070", nil, lied("evil.example.com:7070")},
		{"no name", "", nil, lied("")},
		{"a name of the internet, with a login", "lists.example.com", []func(*Config){login}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := recountingBy(t, tally10, tt.edits...)
			for _, call := range []string{"GET /v1/recounts 200", "POST /v1/recounts 202", "GET /v1/recounts/x 404", "DELETE /v1/recounts/x 404"} {
				var method, target string
				var status int
				_, err := fmt.Sscan(call, &method, &target, &status)
				require.NoError(t, err)
				w := request(t, e, method, target, `{"rule":"tenants",`+lastHourBody+`}`, func(r *http.Request) { r.Host = tt.host })
				if tt.says == "" {
					assert.Equal(t, status, w.Code, w.Body)
					continue
				}
				require.Equal(t, http.StatusForbidden, w.Code, w.Body)
				assert.Equal(t, tt.says, said(t, w))
			}
		})
	}
}

// A page of another site may make a browser send what it likes to this machine; the browser says where the page is from.
func TestAPageOfAnotherSiteCannotStartARecount(t *testing.T) {
	e := recountingBy(t, tally10)
	for _, tt := range []struct {
		header, value string
		status        int
	}{
		{"Origin", "http://localhost:7070", 202},
		{"Origin", "http://evil.example.com", 403},
		{"Origin", "http://localhost:8080", 403},
		{"Origin", "null", 403},
		{"Sec-Fetch-Site", "same-origin", 202},
		{"Sec-Fetch-Site", "none", 202},
		{"Sec-Fetch-Site", "same-site", 403},
		{"Sec-Fetch-Site", "cross-site", 403},
	} {
		w := request(t, e, http.MethodPost, recountsRoute, `{"rule":"tenants",`+lastHourBody+`}`, func(r *http.Request) { r.Header.Set(tt.header, tt.value) })
		assert.Equal(t, tt.status, w.Code, "%s: %s", tt.header, tt.value)
		w = request(t, e, http.MethodDelete, recountsRoute+"/x", "", func(r *http.Request) { r.Header.Set(tt.header, tt.value) })
		assert.Equal(t, map[int]int{202: 404, 403: 403}[tt.status], w.Code, "%s: %s", tt.header, tt.value)
	}
}

func TestARuleThatCountedOtherwiseIsRefusedWithBothTexts(t *testing.T) {
	published := func(edit func(*rule.Definition), pointless bool) func(*testing.T, *topkExporter) {
		return func(t *testing.T, e *topkExporter) {
			d := *e.recounts.rules["tenants"].Definition()
			edit(&d)
			p := counted(t, &d, 5*time.Minute, rule.Group{}, map[string]uint64{"a": 1})
			p.pointless = pointless
			require.NoError(t, e.consumeLogs(t.Context(), logs(t, p)))
		}
	}
	same := func(*rule.Definition) {}
	shorter := func(d *rule.Definition) { d.K = 10 }
	errors := func(d *rule.Definition) { d.Conditions = []string{`log.severity_number >= 17`} }
	otherSeed := func(d *rule.Definition) { d.Shape.Seed++ }
	for _, tt := range []struct {
		name   string
		before func(*testing.T, *topkExporter)
		says   []string
	}{
		{"nothing was counted yet", func(*testing.T, *topkExporter) {}, nil},
		{"the same", published(same, false), nil},
		{"the same but for what is no part of the count", published(shorter, false), nil},
		{"the same, as far as is known without a window summary", published(otherSeed, true), nil},
		{"other conditions", published(errors, false), []string{
			`rule: "tenants" was counted by another definition than recount.rules has; differing: conditions; counted: {"signals":["logs"],`,
			`"conditions":["log.severity_number >= 17"]`, `; here: {"signals":["logs"]`, `"conditions":[]`,
		}},
		{"other conditions, without a window summary", published(errors, true), []string{"was counted by another definition"}},
		{"another seed", published(otherSeed, false), []string{"than recount.rules has; differing: seed; counted: {"}},
		{"other conditions in the hours that are kept", func(t *testing.T, e *topkExporter) {
			d := *e.recounts.rules["tenants"].Definition()
			errors(&d)
			roll(t, e, rollup(&d, elevenOClock, rule.Group{}, zipf(t, &d, 10)))
		}, []string{"was counted by another definition"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := recountingBy(t, tally10)
			tt.before(t, e)
			w := request(t, e, http.MethodPost, recountsRoute, `{"rule":"tenants",`+lastHourBody+`}`)
			if tt.says == nil {
				assert.Equal(t, http.StatusAccepted, w.Code, w.Body)
				return
			}
			require.Equal(t, http.StatusConflict, w.Code, w.Body)
			for _, text := range tt.says {
				assert.Contains(t, said(t, w), text)
			}
			for _, secret := range []string{"pepper", fmt.Sprint(rule.SeedOf("pepper")), "seed\""} {
				assert.NotContains(t, said(t, w), secret)
			}
		})
	}
}
