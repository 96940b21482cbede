package topkexporter

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

// noon is when the lists of the tests were counted.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

const seed = 42

// tenants is a rule with one plain key; edits make others of it.
func tenants(t testing.TB, edits ...func(*rule.Definition)) *rule.Definition {
	shape, err := topk.NewShape(0.01, 0.05, seed)
	require.NoError(t, err)
	d := &rule.Definition{
		Name: "tenants", Signals: []string{"logs"}, Key: []string{`log.attributes["tenant.id"]`}, Weight: "1", WeightScale: 1,
		K: 20, MaxKeyBytes: 256, Residents: 64, Shape: shape,
	}
	for _, edit := range edits {
		edit(d)
	}
	return d
}

func called(name string) func(*rule.Definition) { return func(d *rule.Definition) { d.Name = name } }

func grouped(d *rule.Definition) { d.GroupBy = `resource.attributes["cloud.region"]` }

func composite(d *rule.Definition) {
	d.Key = []string{`span.attributes["method"]`, `span.attributes["route"]`}
}

// published is a list in the making, and what was counted for it.
type published struct {
	wire.Snapshot
	definition *rule.Definition // with the seed
	summary    *topk.Summary
	pointless  bool // no window summary goes with it
}

// counted makes the list of what was counted: weight by key.
func counted(t testing.TB, d *rule.Definition, window time.Duration, group rule.Group, weights map[string]uint64) published {
	s, err := topk.New(d.Residents, d.Shape)
	require.NoError(t, err)
	for _, key := range sortedKeys(weights) {
		require.NoError(t, s.Add(key, weights[key]))
	}
	return summed(d, window, group, s)
}

// summed is the list of s as a gateway publishes it.
func summed(d *rule.Definition, window time.Duration, group rule.Group, s *topk.Summary) published {
	seedless := *d
	seedless.Shape.Seed = 0
	distinct, _ := s.Distinct()
	return published{
		Snapshot: wire.Snapshot{
			Rule: &seedless, Window: window, Group: group, WindowStart: noon.Add(-window), AsOf: noon, Approximate: true,
			Total: s.Total(), TotalUpper: s.TotalUpper(), Records: s.Records(), Distinct: distinct, List: s.Top(d.K),
			Coverage: wire.Coverage{Reporting: 3},
		},
		definition: d, summary: s,
	}
}

// logs are the records of all lists, as they travel.
func logs(t testing.TB, lists ...published) plog.Logs {
	ld := plog.NewLogs()
	for i := range lists {
		p := &lists[i]
		wire.AppendSnapshot(ld, &p.Snapshot)
		if !p.pointless {
			appendSummary(t, ld, p)
		}
	}
	return ld
}

func appendSummary(t testing.TB, ld plog.Logs, p *published) {
	pruned := p.summary.Clone()
	pruned.Prune(max(p.definition.K, p.definition.Residents/2))
	_, err := wire.AppendWindowSummary(ld, &wire.WindowSummary{
		Rule: p.definition, Window: p.Window, Group: p.Group, AsOf: p.AsOf, Summary: pruned,
	})
	require.NoError(t, err)
}

// shelf is an exporter without its server.
func shelf(t testing.TB, lists ...published) *topkExporter {
	e, err := newExporter(createDefaultConfig().(*Config), exportertest.NewNopSettings(typ))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.shutdown(t.Context())) })
	if len(lists) > 0 {
		require.NoError(t, e.consumeLogs(t.Context(), logs(t, lists...)))
	}
	return e
}

// get asks the handler of e.
func get(e *topkExporter, target string) *httptest.ResponseRecorder {
	return do(e, httptest.NewRequest(http.MethodGet, target, nil))
}

func do(e *topkExporter, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	e.handler.ServeHTTP(w, r)
	return w
}

// zipf counts n records of which low numbers are frequent.
func zipf(t testing.TB, d *rule.Definition, n int) *topk.Summary {
	s, err := topk.New(d.Residents, d.Shape)
	require.NoError(t, err)
	for key := range zipfKeys(n) {
		require.NoError(t, s.Add(key, 1))
	}
	return s
}

// zipfKeys are the keys that zipf counts.
func zipfKeys(n int) iter.Seq[string] {
	return func(yield func(string) bool) {
		z := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.2, 1, 1_000_000)
		for range n {
			if !yield(fmt.Sprintf("tenant-%03d", z.Uint64())) {
				return
			}
		}
	}
}

// world has one list of every kind, and a past.
func world(t testing.TB) *topkExporter {
	e := shelf(t, worldLists(t)...)
	roll(t, e, worldPast(t)...)
	e.handler.now = func() time.Time { return noon.Add(3 * time.Second) }
	return e
}

// worldLists are of several rules, windows, groups and scopes, with keys that need care.
func worldLists(t testing.TB) []published {
	plain := tenants(t, grouped)
	routes := tenants(t, composite, called("routes"), func(d *rule.Definition) { d.Weight = "bytes"; d.Signals = []string{"traces"} })
	global := summed(plain, 5*time.Minute, rule.Group{}, zipf(t, plain, 5000))
	global.PartialReasons = []string{"silent_shards"}
	global.Coverage = wire.Coverage{
		Reporting: 2, Silent: 1, SilentShards: []wire.SilentShard{{Shard: "shard-3", Since: noon.Add(-time.Minute)}},
		Late: 4, Future: 5, Dropped: 6, OverflowedShards: 1,
	}
	global.Conflicts = []wire.Conflict{{Fingerprint: strings.Repeat("0a", 16), LiveShards: 1, Rule: global.Rule}}
	hour := summed(plain, time.Hour, rule.Group{}, zipf(t, plain, 20000))
	group := counted(t, plain, 5*time.Minute, rule.Group{Scope: rule.ScopeGroup, Name: "eu"}, map[string]uint64{"tenant-001": 7, "": 3})
	group.pointless = true
	nameless := counted(t, plain, 5*time.Minute, rule.Group{Scope: rule.ScopeGroup}, map[string]uint64{"tenant-002": 2})
	missing := counted(t, plain, 5*time.Minute, rule.Group{Scope: rule.ScopeMissing}, map[string]uint64{"tenant-001": 1})
	pairs := counted(t, routes, 5*time.Minute, rule.Group{}, map[string]uint64{
		routes.KeyOf("GET", "/cart"): 900, routes.KeyOf("a,b", "c"): 70, routes.KeyOf("a", "b,c"): 60,
	})
	return []published{global, hour, group, nameless, missing, pairs}
}
