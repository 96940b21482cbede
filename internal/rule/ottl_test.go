package rule

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

func TestExpressionsCountUnderTheTextOfWhatTheyReturn(t *testing.T) {
	for _, row := range []struct {
		expression string
		keys       []string
		skipped    Skipped
	}{
		{`log.attributes["map"]["b"]`, []string{"2"}, Skipped{}},
		{`log.attributes["map"]["none"]`, nil, Skipped{MissingKey: 1}},
		{`log.attributes["list"][1]`, []string{"1"}, Skipped{}},
		{`log.attributes["list"][9]`, nil, Skipped{Errors: 1}},
		{`log.attributes`, []string{`{"list":["x",1],"map":{"a":null,"b":2},"text":"a b"}`}, Skipped{}},
		{`log.attributes["list"]`, []string{`["x",1]`}, Skipped{}},
		{`Split(log.attributes["text"], " ")`, []string{`["a","b"]`}, Skipped{}},
		{`[log.attributes["map"], log.attributes["list"], 1.5, nil, true]`, []string{`[{"a":null,"b":2},["x",1],1.5,null,true]`}, Skipped{}},
		{`{"z": log.attributes["text"], "a": 1}`, []string{`{"a":1,"z":"a b"}`}, Skipped{}},
		{`{"a": log.attributes["list"]}`, nil, Skipped{Errors: 1}}, // OTTL cannot
		{`[log.time]`, nil, Skipped{Errors: 1}},
		{`log.time`, []string{"2023-11-14T22:13:20.5Z"}, Skipped{}},
		{`log.time - log.observed_time`, []string{"500000000"}, Skipped{}},
		{`log.severity_number + 1`, []string{"10"}, Skipped{}},
		{`log.severity_number / 0`, nil, Skipped{Errors: 1}},
		{`Double(log.severity_number)`, []string{"9"}, Skipped{}},
		{`IsMap(log.attributes["map"])`, []string{"true"}, Skipped{}},
		{`ToUpperCase(log.attributes["text"])`, []string{"A B"}, Skipped{}},
		{`Coalesce([log.attributes["none"], log.trace_id])`, []string{"01000000000000000000000000000000"}, Skipped{}},
		{`Coalesce([log.attributes["none"], log.span_id])`, []string{"0200000000000000"}, Skipped{}},
	} {
		t.Run(row.expression, func(t *testing.T) {
			b := countLogs(compiled(t, func(c *Config) { c.Key = []string{row.expression} }), logsOf(1, func(_ int, lr plog.LogRecord) {
				lr.SetTimestamp(pcommon.Timestamp(testNow + 500_000_000))
				lr.SetObservedTimestamp(pcommon.Timestamp(testNow))
				lr.SetSeverityNumber(plog.SeverityNumberInfo)
				lr.SetTraceID([16]byte{1})
				lr.SetSpanID([8]byte{2})
				require.NoError(t, lr.Attributes().FromRaw(map[string]any{
					"text": "a b", "list": []any{"x", 1}, "map": map[string]any{"b": 2, "a": nil},
				}))
			}))
			require.ElementsMatch(t, row.keys, b.Keys)
			require.Equal(t, row.skipped, b.Skipped)
		})
	}
}

func TestListsOfDataPointsHaveAText(t *testing.T) {
	md := pmetric.NewMetrics()
	p := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty().SetEmptyHistogram().DataPoints().AppendEmpty()
	p.BucketCounts().FromRaw([]uint64{1, 2})
	p.ExplicitBounds().FromRaw([]float64{0.5})
	r := compiled(t, func(c *Config) { c.Key = []string{"datapoint.bucket_counts", "datapoint.explicit_bounds"} })
	var b Batch
	r.Metrics(md, testNow, &b)
	require.Equal(t, []string{`["[1,2]","[0.5]"]`}, b.Keys)
}
