package rule

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// twoSpans are a with events e1, e2 and b with none.
func twoSpans() ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service", "s")
	spans := rs.ScopeSpans().AppendEmpty().Spans()
	a := spans.AppendEmpty()
	a.SetName("a")
	a.SetKind(ptrace.SpanKindServer)
	for _, name := range []string{"e1", "e2"} {
		e := a.Events().AppendEmpty()
		e.SetName(name)
		e.Attributes().PutInt("n", 2)
	}
	spans.AppendEmpty().SetName("b")
	td.MarkReadOnly()
	return td
}

func TestTraces(t *testing.T) {
	for _, row := range []struct {
		situation string
		change    func(*Config)
		keys      []string
		weights   []uint64
		skipped   Skipped
	}{
		{"spans", func(c *Config) { c.Key = []string{"span.name", "span.kind.string"} }, []string{`["a","Server"]`, `["b","Unspecified"]`}, nil, Skipped{}},
		{"spans where only the resource is named", func(c *Config) {
			c.Key, c.Signals = []string{`resource.attributes["service"]`}, []string{SignalTraces}
		}, []string{"s", "s"}, nil, Skipped{}},
		{"events", func(c *Config) { c.Key = []string{"spanevent.name"} }, []string{"e1", "e2"}, nil, Skipped{}},
		{"events with their span", func(c *Config) { c.Key = []string{"span.name", "spanevent.name"} }, []string{`["a","e1"]`, `["a","e2"]`}, nil, Skipped{}},
		{"events because of a condition", func(c *Config) { c.Key, c.Conditions = []string{"span.name"}, []string{`spanevent.name == "e2"`} }, []string{"a"}, nil, Skipped{Unmatched: 1}},
		{"events with a weight", func(c *Config) { c.Key, c.Weight = []string{"span.name"}, `spanevent.attributes["n"]` }, []string{"a", "a"}, []uint64{2, 2}, Skipped{}},
		{"the duration as a weight", func(c *Config) { c.Key, c.Weight = []string{"span.name"}, "span.end_time - span.start_time" }, []string{"a", "b"}, []uint64{0, 0}, Skipped{}},
		{"root spans", func(c *Config) { c.Key, c.Conditions = []string{"span.name"}, []string{"IsRootSpan()"} }, []string{"a", "b"}, nil, Skipped{}},
		{"what has no text", func(c *Config) { c.Key = []string{"span.events"} }, []string{}, nil, Skipped{Errors: 2}},
	} {
		t.Run(row.situation, func(t *testing.T) {
			var b Batch
			compiled(t, row.change).Traces(twoSpans(), testNow, &b)
			require.Equal(t, row.keys, b.Keys)
			require.Equal(t, row.weights, b.Weights)
			require.Equal(t, row.skipped, b.Skipped)
		})
	}
}

// fiveMetrics has one of each type, named by it, with two points each.
func fiveMetrics() pmetric.Metrics {
	md := pmetric.NewMetrics()
	metrics := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics()
	add := func(name string) pmetric.Metric {
		m := metrics.AppendEmpty()
		m.SetName(name)
		return m
	}
	gauge, sum := add("gauge").SetEmptyGauge(), add("sum").SetEmptySum()
	histogram, exponential := add("histogram").SetEmptyHistogram(), add("exponential").SetEmptyExponentialHistogram()
	summary := add("summary").SetEmptySummary()
	for i := range 2 {
		n := gauge.DataPoints().AppendEmpty()
		n.SetIntValue(int64(i + 1))
		n.Attributes().PutInt("point", int64(i))
		n = sum.DataPoints().AppendEmpty()
		n.SetDoubleValue(1.5)
		n.Attributes().PutInt("point", int64(i))
		h := histogram.DataPoints().AppendEmpty()
		h.SetCount(10)
		h.Attributes().PutInt("point", int64(i))
		e := exponential.DataPoints().AppendEmpty()
		e.SetCount(20)
		e.Attributes().PutInt("point", int64(i))
		s := summary.DataPoints().AppendEmpty()
		s.SetCount(30)
		s.Attributes().PutInt("point", int64(i))
	}
	add("empty")
	md.MarkReadOnly()
	return md
}

func TestMetrics(t *testing.T) {
	twice := []string{"gauge", "gauge", "sum", "sum", "histogram", "histogram", "exponential", "exponential", "summary", "summary"}
	for _, row := range []struct {
		situation string
		change    func(*Config)
		keys      []string
		weights   []uint64
		skipped   Skipped
	}{
		{"points of all types", func(c *Config) { c.Key = []string{"metric.name"} }, twice, nil, Skipped{}},
		{"by attribute", func(c *Config) {
			c.Key, c.Conditions = []string{"metric.name", `datapoint.attributes["point"]`}, []string{`metric.type == METRIC_DATA_TYPE_SUM`}
		}, []string{`["sum","0"]`, `["sum","1"]`}, nil, Skipped{Unmatched: 8}},
		{"count as a weight", func(c *Config) { c.Key, c.Weight = []string{"metric.name"}, "datapoint.count" }, twice[4:], []uint64{10, 10, 20, 20, 30, 30}, Skipped{BadWeight: 4}},
		{"value as a weight", func(c *Config) { c.Key, c.Weight = []string{"metric.name"}, "datapoint.value_int" }, twice[:4], []uint64{1, 2, 0, 0}, Skipped{BadWeight: 6}},
		{"size as a weight", func(c *Config) {
			c.Key, c.Weight, c.Conditions = []string{"metric.name"}, WeightBytes, []string{`datapoint.attributes["point"] == 0`}
		}, []string{"gauge", "sum", "histogram", "exponential", "summary"}, []uint64{22, 22, 22, 26, 22}, Skipped{Unmatched: 5}},
		{"only the scope is named", func(c *Config) { c.Key, c.Signals = []string{"scope.name"}, []string{SignalMetrics} }, make([]string, 10), nil, Skipped{}},
	} {
		t.Run(row.situation, func(t *testing.T) {
			var b Batch
			compiled(t, row.change).Metrics(fiveMetrics(), testNow, &b)
			require.Equal(t, row.keys, b.Keys)
			require.Equal(t, row.weights, b.Weights)
			require.Equal(t, row.skipped, b.Skipped)
		})
	}
}
