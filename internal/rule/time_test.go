package rule

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// T1: a record is never counted in 1970.
func TestTimeOfLogs(t *testing.T) {
	r := compiled(t, func(c *Config) { c.Key = []string{"log.body.string"} })
	for _, row := range []struct {
		situation       string
		stamp, observed pcommon.Timestamp
		want            int64
	}{
		{"its own time", 5, 6, 5},
		{"only observed", 0, 6, 6},
		{"neither", 0, 0, testNow},
		{"beyond the year 2262", math.MaxUint64, 6, math.MaxInt64},
		{"observed beyond the year 2262", 0, math.MaxInt64 + 1, math.MaxInt64},
	} {
		b := countLogs(r, logsOf(1, func(_ int, lr plog.LogRecord) {
			lr.SetTimestamp(row.stamp)
			lr.SetObservedTimestamp(row.observed)
		}))
		require.Equal(t, []int64{row.want}, b.Times, row.situation)
	}
}

func TestTimeOfSpansAndTheirEvents(t *testing.T) {
	for _, row := range []struct {
		situation         string
		start, end, event pcommon.Timestamp
		span, byStart     int64
		spanEvent         int64
	}{
		{"all", 5, 6, 7, 6, 5, 7},
		{"no end", 5, 0, 0, 5, 5, 5},
		{"no start", 0, 6, 0, 6, 6, 6},
		{"neither", 0, 0, 0, testNow, testNow, testNow},
		{"only the event", 0, 0, 7, testNow, testNow, 7},
	} {
		td := ptrace.NewTraces()
		s := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		s.SetStartTimestamp(row.start)
		s.SetEndTimestamp(row.end)
		s.Events().AppendEmpty().SetTimestamp(row.event)
		timeOf := func(change func(*Config)) []int64 {
			var b Batch
			compiled(t, change).Traces(td, testNow, &b)
			return b.Times
		}
		require.Equal(t, []int64{row.span}, timeOf(func(c *Config) { c.Key = []string{"span.name"} }), row.situation)
		require.Equal(t, []int64{row.byStart}, timeOf(func(c *Config) { c.Key, c.Time = []string{"span.name"}, TimeStart }), row.situation)
		require.Equal(t, []int64{row.spanEvent}, timeOf(func(c *Config) { c.Key = []string{"spanevent.name"} }), row.situation)
	}
}

func TestTimeOfDataPoints(t *testing.T) {
	r := compiled(t, func(c *Config) { c.Key = []string{"metric.name"} })
	md := pmetric.NewMetrics()
	points := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty().SetEmptyGauge().DataPoints()
	points.AppendEmpty().SetTimestamp(5)
	points.AppendEmpty().SetStartTimestamp(5)
	var b Batch
	r.Metrics(md, testNow, &b)
	require.Equal(t, []int64{5, testNow}, b.Times)
}
