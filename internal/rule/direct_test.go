package rule

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"pgregory.net/rapid"
)

func TestDirectLookupsGiveTheTextThatOTTLGives(t *testing.T) {
	t.Run("logs", func(t *testing.T) {
		holdAgainstOTTL(t, logRecords, func(r *Rule) *plan[logCursor] { return r.logs }, "", drawLogs,
			func(r *Rule, ld plog.Logs, b *Batch) { r.Logs(ld, testNow, b) })
	})
	walkTraces := func(r *Rule, td ptrace.Traces, b *Batch) { r.Traces(td, testNow, b) }
	t.Run("spans", func(t *testing.T) {
		holdAgainstOTTL(t, spans, func(r *Rule) *plan[spanCursor] { return r.spans }, "", drawTraces, walkTraces)
	})
	t.Run("span events", func(t *testing.T) {
		holdAgainstOTTL(t, spanEvents, func(r *Rule) *plan[eventCursor] { return r.events }, "spanevent.name", drawTraces, walkTraces)
	})
	t.Run("data points", func(t *testing.T) {
		holdAgainstOTTL(t, dataPoints, func(r *Rule) *plan[pointCursor] { return r.points }, "", drawMetrics,
			func(r *Rule, md pmetric.Metrics, b *Batch) { r.Metrics(md, testNow, b) })
	})
}

// holdAgainstOTTL walks the same records with a rule that looks a path up directly and one that asks OTTL. groupBy is a
// path that makes the rule walk this kind of record.
func holdAgainstOTTL[C, T, D any](
	t *testing.T, k *kind[C, T], plan func(*Rule) *plan[C], groupBy string, draw func(*rapid.T) D, walk func(*Rule, D, *Batch),
) {
	type pair struct {
		path           string
		direct, asking *Rule
	}
	var pairs []pair
	for _, path := range directPaths(k) {
		rule := func(text string) *Rule {
			return compiled(t, func(c *Config) {
				c.Key, c.GroupBy = []string{text}, groupBy
				if groupBy == "" && (strings.HasPrefix(path, "resource.") || strings.HasPrefix(path, "scope.")) {
					c.Signals = []string{k.signal}
				}
			})
		}
		p := pair{path, rule(path), rule(strings.Replace(path, ".", " . ", 1))} // the spaces make it too odd for a direct lookup
		require.False(t, plan(p.direct).expresses, path)
		require.True(t, plan(p.asking).expresses, path)
		pairs = append(pairs, p)
	}
	rapid.Check(t, func(t *rapid.T) {
		records := draw(t)
		for _, p := range pairs {
			var found, want Batch
			walk(p.direct, records, &found)
			walk(p.asking, records, &want)
			require.Equal(t, want.Keys, found.Keys, p.path)
			require.Equal(t, want.Skipped, found.Skipped, p.path)
			require.Equal(t, want.Times, found.Times, p.path)
		}
	})
}

// directPaths are all that a kind of record looks up directly, attributes also by names that need quoting.
func directPaths[C, T any](k *kind[C, T]) (paths []string) {
	for context, f := range k.contexts {
		for field := range f.plain {
			paths = append(paths, context+"."+field)
		}
		for field := range f.maps {
			for _, name := range []string{`"a"`, `"quote\"d\\"`, `"dotted.name"`, `"日本"`, `""`, `"absent"`} {
				paths = append(paths, context+"."+field+"["+name+"]")
			}
		}
	}
	return slices.Sorted(slices.Values(paths))
}
