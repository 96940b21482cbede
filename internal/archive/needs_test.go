package archive

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"pgregory.net/rapid"

	"github.com/otel-topk/collector/internal/rule"
)

// rulesOf read single attributes, promoted and not, fields, whole maps and events.
func rulesOf(t *testing.T, signal string) (rules []*rule.Rule) {
	own, configs := "log", []rule.Config{
		{Key: []string{"log.severity_number", "log.severity_text"}},
		{Key: []string{"log.body"}, GroupBy: "log.event_name"},
		{Key: []string{"log.trace_id", "log.span_id"}, Conditions: []string{"log.flags > 5"}},
		{Key: []string{"log.time_unix_nano"}},
		{Key: []string{"log.observed_time_unix_nano"}, Weight: "log.dropped_attributes_count"},
	}
	if signal == rule.SignalTraces {
		own, configs = "span", []rule.Config{
			{Key: []string{"span.name", "span.kind"}},
			{Key: []string{"span.status.code"}, GroupBy: "span.status.message"},
			{Key: []string{"span.trace_id", "span.span_id", "span.parent_span_id"}, Conditions: []string{"span.flags > 5"}},
			{Key: []string{"span.trace_state"}, Time: rule.TimeStart},
			{Key: []string{"span.end_time_unix_nano"}, Weight: "span.dropped_links_count"},
			{Key: []string{"spanevent.name"}, GroupBy: `spanevent.attributes["a"]`},
		}
	}
	configs = append(
		configs,
		rule.Config{Key: []string{own + `.attributes["tenant.id"]`}},
		rule.Config{Key: []string{own + `.attributes["a"]`}, GroupBy: own + `.attributes["tenant.id"]`},
		rule.Config{Key: []string{own + `.attributes["status"]`, own + `.attributes["日本"]`}, Weight: rule.WeightBytes},
		rule.Config{Key: []string{`resource.attributes["a"]`}, GroupBy: `resource.attributes["b"]`, Signals: []string{signal}},
		rule.Config{Key: []string{"scope.name", "scope.version"}, GroupBy: "resource.schema_url", Signals: []string{signal}},
		rule.Config{Key: []string{`scope.attributes["b"]`}, Conditions: []string{"scope.dropped_attributes_count == 0"}, Signals: []string{signal}},
		rule.Config{Key: []string{"Len(" + own + ".attributes)"}},
	)
	for _, c := range configs {
		defaults := rule.NewDefaultConfig()
		defaults.Name, defaults.Key, defaults.GroupBy, defaults.Conditions, defaults.Signals = "r", c.Key, c.GroupBy, c.Conditions, c.Signals
		if c.Weight != "" {
			defaults.Weight = c.Weight
		}
		if c.Time != "" {
			defaults.Time = c.Time
		}
		r, err := rule.New(defaults, 0, "", componenttest.NewNopTelemetrySettings())
		require.NoError(t, err, c.Key)
		rules = append(rules, r)
	}
	return rules
}

// counted is a record as it counts.
type counted struct {
	key    string
	group  rule.Group
	weight uint64
	time   int64
}

func appendCounted(dst []counted, b *rule.Batch) []counted {
	for i, key := range b.Keys {
		c := counted{key: key, weight: 1, time: b.Times[i]}
		if b.Weights != nil {
			c.weight = b.Weights[i]
		}
		if b.Groups != nil {
			c.group = b.Groups[i]
		}
		dst = append(dst, c)
	}
	return dst
}

func TestWhatIsNeededCountsAsTheRecordsDid(t *testing.T) {
	columns := mustColumns(t, testColumns...)
	all := map[string][]*rule.Rule{rule.SignalLogs: rulesOf(t, rule.SignalLogs), rule.SignalTraces: rulesOf(t, rule.SignalTraces)}
	rapid.Check(t, func(t *rapid.T) {
		signal := rapid.SampledFrom([]string{rule.SignalLogs, rule.SignalTraces}).Draw(t, "signal")
		var requests []request
		for range rapid.IntRange(1, 3).Draw(t, "requests") {
			requests = append(requests, drawRequest(draw(t)))
		}
		data := file(t, Meta{Signal: signal, Columns: columns}, requests)
		reader, err := NewReader(inMemory(data))
		require.NoError(t, err)
		for range 4 {
			r := rapid.SampledFrom(all[signal]).Draw(t, "rule")
			var want, found []counted
			var skipped, missed rule.Skipped
			for _, q := range requests {
				var b rule.Batch
				if signal == rule.SignalLogs {
					r.Logs(q.logs, q.now, &b)
				} else {
					r.Traces(q.traces, q.now, &b)
				}
				want = appendCounted(want, &b)
				skipped.Add(b.Skipped)
			}
			needs := r.Needs(signal)
			for part, err := range reader.Batches(t.Context(), needs) {
				require.NoError(t, err)
				b := rule.Batch{Sizes: part.Sizes}
				if signal == rule.SignalLogs {
					r.Logs(part.Logs, part.Now, &b)
				} else {
					r.Traces(part.Traces, part.Now, &b)
				}
				found = appendCounted(found, &b)
				missed.Add(b.Skipped)
			}
			require.Equal(t, want, found, "%v", r.Config().Key)
			require.Equal(t, skipped, missed, "%v", r.Config().Key)
		}
	})
}
