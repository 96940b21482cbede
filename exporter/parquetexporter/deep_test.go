package parquetexporter

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
)

// nest makes v a value of that many lists or maps.
func nest(v pcommon.Value, depth int, list bool) {
	switch {
	case depth == 0:
		v.SetStr("core")
	case list:
		nest(v.SetEmptySlice().AppendEmpty(), depth-1, list)
	default:
		nest(v.SetEmptyMap().PutEmpty("k"), depth-1, list)
	}
}

// What pdata writes and cannot read again would be lost at conversion, with all records of its request.
func TestDeepValuesLoseNoRecord(t *testing.T) {
	for _, depth := range []int{deepest, deepest + 1, 60, 400} {
		for _, list := range []bool{true, false} {
			p := newPlace(t)
			m := run(t, p.config(t, nil))
			ctx := context.Background()
			next := 1
			add := func(where func(plog.ResourceLogs, plog.ScopeLogs, plog.LogRecord) pcommon.Value) {
				ld := logsAt(always(noon), next, next+1)
				next += 2
				rl := ld.ResourceLogs().At(0)
				v := where(rl, rl.ScopeLogs().At(0), rl.ScopeLogs().At(0).LogRecords().At(0))
				nest(v, depth, list)
				sent := plog.NewLogs()
				ld.CopyTo(sent)
				require.NoError(t, m.consumeLogs(ctx, sent))
				assert.Equal(t, ld, sent, "what passes stays as it is")
			}
			add(func(rl plog.ResourceLogs, _ plog.ScopeLogs, _ plog.LogRecord) pcommon.Value {
				return rl.Resource().Attributes().PutEmpty("deep")
			})
			add(func(_ plog.ResourceLogs, sl plog.ScopeLogs, _ plog.LogRecord) pcommon.Value {
				return sl.Scope().Attributes().PutEmpty("deep")
			})
			add(func(_ plog.ResourceLogs, _ plog.ScopeLogs, r plog.LogRecord) pcommon.Value {
				return r.Attributes().PutEmpty("deep")
			})
			add(func(_ plog.ResourceLogs, _ plog.ScopeLogs, r plog.LogRecord) pcommon.Value { return r.Body() })

			td := spansAt(always(noon), 1, 2)
			span := func() ptrace.Span { return td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0) }
			nest(td.ResourceSpans().At(0).Resource().Attributes().PutEmpty("deep"), depth, list)
			nest(td.ResourceSpans().At(0).ScopeSpans().At(0).Scope().Attributes().PutEmpty("deep"), depth, list)
			nest(span().Attributes().PutEmpty("deep"), depth, list)
			nest(span().Events().AppendEmpty().Attributes().PutEmpty("deep"), depth, list)
			nest(span().Links().AppendEmpty().Attributes().PutEmpty("deep"), depth, list)
			require.NoError(t, m.consumeTraces(ctx, td))
			_, err := m.meters.GetMetric("otelcol_exporter_parquet_flattened_values")
			assert.Equal(t, depth > deepest, err == nil, "%d levels", depth)
			m.end(t)

			assert.Equal(t, map[archive.Hour]map[int]int{hour: once(upTo(next)[1:]...)}, p.archived(t, rule.SignalLogs), "%d levels", depth)
			assert.Equal(t, map[archive.Hour]map[int]int{hour: once(1, 2)}, p.archived(t, rule.SignalTraces), "%d levels", depth)
			assert.Empty(t, m.statuses())
		}
	}
}
