package archive

import (
	"bytes"
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"pgregory.net/rapid"

	"github.com/otel-topk/collector/internal/rule"
)

// line is a record with its place, in a form that can be compared: attributes are in no order, but of the same name in theirs.
type line struct {
	record string
	now    int64 // 0: it carries a time
	size   int
}

func sorted(m pcommon.Map) {
	type entry struct {
		key   string
		value pcommon.Value
	}
	var entries []entry
	for k, v := range m.All() {
		c := pcommon.NewValueEmpty()
		v.CopyTo(c)
		entries = append(entries, entry{k, c})
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.key, b.key) })
	i := 0
	var list []byte
	for ; i < len(entries); i++ {
		var pair []byte
		pair = appendMessage(pair, pairKey, []byte(entries[i].key))
		list = appendMessage(list, listValues, appendMessage(pair, pairValue, appendValue(nil, entries[i].value)))
	}
	v := pcommon.NewValueEmpty()
	if err := readValue(v, appendMessage(nil, anyMap, list)); err != nil {
		panic(err)
	}
	v.Map().MoveTo(m)
}

func logLines(ld plog.Logs, now int64) (lines []line) {
	for _, rl := range ld.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			for _, r := range sl.LogRecords().All() {
				whole, err := wholeLog(rl, sl, r)
				if err != nil {
					panic(err)
				}
				one, err := logReader.UnmarshalLogs(whole)
				if err != nil {
					panic(err)
				}
				to := one.ResourceLogs().At(0)
				sorted(to.Resource().Attributes())
				sorted(to.ScopeLogs().At(0).Scope().Attributes())
				sorted(to.ScopeLogs().At(0).LogRecords().At(0).Attributes())
				text, _ := logSizer.MarshalLogs(one)
				l := line{record: string(text), size: logSizer.LogRecordSize(r)}
				if r.Timestamp() == 0 && r.ObservedTimestamp() == 0 {
					l.now = now
				}
				lines = append(lines, l)
			}
		}
	}
	return lines
}

func spanLines(td ptrace.Traces, now int64) (lines []line) {
	var u ptrace.ProtoUnmarshaler
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				whole, err := wholeSpan(rs, ss, s)
				if err != nil {
					panic(err)
				}
				one, err := u.UnmarshalTraces(whole)
				if err != nil {
					panic(err)
				}
				to := one.ResourceSpans().At(0)
				sorted(to.Resource().Attributes())
				sorted(to.ScopeSpans().At(0).Scope().Attributes())
				span := to.ScopeSpans().At(0).Spans().At(0)
				sorted(span.Attributes())
				for _, e := range span.Events().All() {
					sorted(e.Attributes())
				}
				for _, k := range span.Links().All() {
					sorted(k.Attributes())
				}
				text, _ := spanSizer.MarshalTraces(one)
				l := line{record: string(text), size: spanSizer.SpanSize(s)}
				if s.StartTimestamp() == 0 && s.EndTimestamp() == 0 {
					l.now = now
				}
				lines = append(lines, l)
			}
		}
	}
	return lines
}

var testColumns = []string{
	`log.attributes["tenant.id"]`, `log.attributes["status"]`, `span.attributes["tenant.id"]`, `span.attributes["日本"]`,
	`resource.attributes["a"]`, `scope.attributes["b"]`,
}

// request is what came at once.
type request struct {
	logs   plog.Logs
	traces ptrace.Traces
	now    int64
}

// file writes requests.
func file(t require.TestingT, meta Meta, requests []request) []byte {
	var out bytes.Buffer
	w, err := NewWriter(&out, meta)
	require.NoError(t, err)
	rows := 0
	for _, q := range requests {
		if meta.Signal == rule.SignalLogs {
			for _, rl := range q.logs.ResourceLogs().All() {
				for _, sl := range rl.ScopeLogs().All() {
					for _, r := range sl.LogRecords().All() {
						require.NoError(t, w.Log(rl, sl, r, q.now))
						rows++
					}
				}
			}
			continue
		}
		for _, rs := range q.traces.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, s := range ss.Spans().All() {
					require.NoError(t, w.Span(rs, ss, s, q.now))
					rows++
				}
			}
		}
	}
	require.EqualValues(t, rows, w.Rows())
	require.NoError(t, w.Close())
	return out.Bytes()
}

func drawRequest(t drawing) request {
	q := request{logs: plog.NewLogs(), traces: ptrace.NewTraces(), now: rapid.Int64Range(1, 1<<62).Draw(t.T, "now")}
	for range rapid.IntRange(0, 2).Draw(t.T, "resources") {
		rl, rs := q.logs.ResourceLogs().AppendEmpty(), q.traces.ResourceSpans().AppendEmpty()
		for range rapid.IntRange(1, 2).Draw(t.T, "scopes") {
			sl, ss := rl.ScopeLogs().AppendEmpty(), rs.ScopeSpans().AppendEmpty()
			t.place(rl.Resource(), rl.SetSchemaUrl, sl.Scope(), sl.SetSchemaUrl)
			rl.Resource().CopyTo(rs.Resource())
			sl.Scope().CopyTo(ss.Scope())
			for range rapid.IntRange(0, 3).Draw(t.T, "records") {
				t.log(sl.LogRecords().AppendEmpty())
				t.span(ss.Spans().AppendEmpty())
			}
		}
	}
	return q
}

func TestWhatIsWrittenIsReadWhole(t *testing.T) {
	columns := mustColumns(t, testColumns...)
	rapid.Check(t, func(t *rapid.T) {
		signal := rapid.SampledFrom([]string{rule.SignalLogs, rule.SignalTraces}).Draw(t, "signal")
		var requests []request
		var want []line
		for range rapid.IntRange(0, 3).Draw(t, "requests") {
			q := drawRequest(draw(t))
			requests = append(requests, q)
			if signal == rule.SignalLogs {
				want = append(want, logLines(q.logs, q.now)...)
			} else {
				want = append(want, spanLines(q.traces, q.now)...)
			}
		}
		meta := Meta{Signal: signal, Hour: 5, Shard: "s\xff", Segment: "0123456789abcdef", Columns: columns}
		data := file(t, meta, requests)
		require.Equal(t, data, file(t, meta, requests), "the same records give the same bytes")

		r, err := NewReader(inMemory(data))
		require.NoError(t, err)
		require.EqualValues(t, len(want), r.Rows())
		var found []line
		for b, err := range r.Batches(t.Context(), rule.Needs{Whole: true, Size: true}) {
			require.NoError(t, err)
			var lines []line
			if signal == rule.SignalLogs {
				lines = logLines(b.Logs, b.Now)
			} else {
				lines = spanLines(b.Traces, b.Now)
			}
			require.Len(t, b.Sizes, len(lines))
			for i := range lines {
				require.Equal(t, lines[i].size, b.Sizes[i])
			}
			found = append(found, lines...)
		}
		require.Equal(t, len(want), len(found))
		for i := range want {
			require.Equal(t, want[i], found[i], i)
		}
	})
}
