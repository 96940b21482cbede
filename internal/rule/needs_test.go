package rule

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNeedsNameWhatTheTextsRead(t *testing.T) {
	for _, row := range []struct {
		situation string
		signal    string
		change    func(*Config)
		want      Needs
	}{
		{"an attribute", SignalLogs, func(c *Config) { c.Key = []string{`log.attributes["tenant.id"]`} }, Needs{Attributes: []Attribute{{"log", "tenant.id"}}}},
		{"every text of a rule", SignalLogs, func(c *Config) {
			c.Key = []string{`log.attributes["b"]`, `scope.name`, `log.attributes["b"]`}
			c.GroupBy, c.Weight = `resource.attributes["a\"\\"]`, `Int(log.attributes["w"])`
			c.Conditions = []string{`log.severity_number >= SEVERITY_NUMBER_ERROR`, `log.body == "log.flags" or resource.schema_url != nil`}
		}, Needs{
			Attributes: []Attribute{{"log", "b"}, {"log", "w"}, {"resource", `a"\`}},
			Fields:     []string{"log.body", "log.severity_number", "resource.schema_url", "scope.name"},
		}},
		{"names after the field", SignalLogs, func(c *Config) { c.Key = []string{"log.trace_id.string", `log.body["a"]["b"]`} }, Needs{Fields: []string{"log.body", "log.trace_id"}}},
		{"times", SignalLogs, func(c *Config) { c.Key = []string{"log.time"} }, Needs{Fields: []string{"log.observed_time_unix_nano", "log.time_unix_nano"}}},
		{"a value within an attribute", SignalLogs, func(c *Config) { c.Key = []string{`log.attributes["a"]["b"][0]`} }, Needs{Attributes: []Attribute{{"log", "a"}}}},
		{"all attributes", SignalLogs, func(c *Config) {
			c.Key = []string{`Len(scope.attributes)`, `scope.attributes["a"]`, `log.attributes["a"]`}
		}, Needs{Maps: []string{"scope"}, Attributes: []Attribute{{"log", "a"}}}},
		{"an attribute that a record names", SignalLogs, func(c *Config) { c.Key = []string{`log.attributes[log.body.string]`} }, Needs{Maps: []string{"log"}, Fields: []string{"log.body"}}},
		{"a function of functions", SignalLogs, func(c *Config) {
			c.Key = []string{`Pseudonym(Concat([log.event_name, resource.attributes["r"]], "/"))`}
		}, Needs{Attributes: []Attribute{{"resource", "r"}}, Fields: []string{"log.event_name"}}},
		{"what is not known here", SignalLogs, func(c *Config) { c.Key = []string{`log.cache["a"]`} }, Needs{Whole: true}},
		{"size", SignalLogs, func(c *Config) { c.Key, c.Weight = []string{"log.body"}, WeightBytes }, Needs{Fields: []string{"log.body"}, Size: true}},
		{"spans", SignalTraces, func(c *Config) { c.Key = []string{"span.status.code", "span.kind.string"} }, Needs{Fields: []string{"span.kind", "span.status"}}},
		{"a function that reads by itself", SignalTraces, func(c *Config) { c.Key, c.Conditions = []string{"span.name"}, []string{"IsRootSpan()"} }, Needs{Fields: []string{"span.name", "span.parent_span_id"}}},
		{"spans by their start", SignalTraces, func(c *Config) { c.Key, c.Time = []string{"span.name"}, TimeStart }, Needs{Fields: []string{fieldEnd, "span.name", fieldStart}}},
		{"span events", SignalTraces, func(c *Config) { c.Key = []string{`spanevent.attributes["a"]`, `span.attributes["b"]`} }, Needs{Attributes: []Attribute{{"span", "b"}}, Fields: []string{fieldEvents}}},
		{"no record of the rule", SignalTraces, func(c *Config) { c.Key = []string{"log.body"} }, Needs{Whole: true}},
		{"data points", SignalMetrics, func(c *Config) { c.Key = []string{"metric.name"} }, Needs{Whole: true}},
		{"several signals, the logs of them", SignalLogs, func(c *Config) { c.Key, c.Signals = []string{"scope.version"}, []string{SignalLogs, SignalTraces} }, Needs{Fields: []string{"scope.version"}}},
		{"several signals, the spans of them", SignalTraces, func(c *Config) {
			c.Key, c.Signals, c.Time = []string{"scope.version"}, []string{SignalLogs, SignalTraces}, TimeStart
		}, Needs{Fields: []string{"scope.version", fieldEnd, fieldStart}}},
	} {
		t.Run(row.situation, func(t *testing.T) {
			got := compiled(t, row.change).Needs(row.signal)
			require.ElementsMatch(t, row.want.Attributes, got.Attributes)
			require.ElementsMatch(t, row.want.Maps, got.Maps)
			require.ElementsMatch(t, row.want.Fields, got.Fields)
			require.Equal(t, row.want.Whole, got.Whole)
			require.Equal(t, row.want.Size, got.Size)
		})
	}
}

func TestEarly(t *testing.T) {
	for _, row := range []struct {
		situation string
		change    func(*Config)
		want      bool
	}{
		{"log records", func(c *Config) { c.Key = []string{"log.body"} }, false},
		{"spans by their end", func(c *Config) { c.Key = []string{"span.name"} }, false},
		{"spans by their start", func(c *Config) { c.Key, c.Time = []string{"span.name"}, TimeStart }, true},
		{"span events", func(c *Config) { c.Key = []string{"spanevent.name"} }, true},
	} {
		r := compiled(t, row.change)
		require.Equal(t, row.want, r.Early(SignalTraces), row.situation)
		require.False(t, r.Early(SignalLogs), row.situation)
	}
}
