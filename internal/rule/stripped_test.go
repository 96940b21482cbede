package rule

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"pgregory.net/rapid"
)

// This is what lets a recount read some columns only.
func TestARecordWithNothingButWhatItsRuleNeedsCountsAsTheWholeOne(t *testing.T) {
	var ofLogs, ofTraces []*Rule
	add := func(change func(*Config)) {
		r := compiled(t, change)
		require.False(t, r.Needs(SignalLogs).Whole && r.Needs(SignalTraces).Whole, r.Config().Key)
		if r.logs != nil {
			ofLogs = append(ofLogs, r)
		} else {
			ofTraces = append(ofTraces, r)
		}
	}
	single := func(signal string, paths []string, time string) {
		for _, path := range paths {
			add(func(c *Config) {
				c.Key, c.Time = []string{path}, time
				if strings.HasPrefix(path, "resource.") || strings.HasPrefix(path, "scope.") {
					c.Signals = []string{signal}
				}
			})
		}
	}
	single(SignalLogs, directPaths(logRecords), "")
	single(SignalTraces, directPaths(spans), "")
	single(SignalTraces, directPaths(spans), TimeStart)
	single(SignalTraces, directPaths(spanEvents), "")
	for _, change := range []func(*Config){
		func(c *Config) { c.Key, c.Weight, c.GroupBy = []string{"log.body"}, WeightBytes, `log.attributes["a"]` },
		func(c *Config) { c.Key = []string{"log.attributes", "resource.attributes", "scope.attributes"} },
		func(c *Config) { c.Key, c.Weight = []string{"log.severity_text"}, `log.attributes["b"]` },
		func(c *Config) { c.Key = []string{`log.attributes[log.severity_text]`, `Len(log.attributes)`} },
		func(c *Config) { c.Key = []string{`Concat([log.event_name, log.attributes["a"]["b"]], "/")`} },
		func(c *Config) {
			c.Key, c.Conditions = []string{"log.body.string"}, []string{`log.attributes["a"] != nil`, `scope.attributes["b"] == nil and log.flags > 9`}
		},
		func(c *Config) { c.Key, c.Weight = []string{"span.name"}, WeightBytes },
		func(c *Config) { c.Key, c.Weight = []string{"span.name"}, "span.end_time - span.start_time" },
		func(c *Config) { c.Key, c.Conditions = []string{"span.name"}, []string{"IsRootSpan()"} },
		func(c *Config) { c.Key, c.Conditions = []string{"span.name"}, []string{"Len(span.events) > 0"} },
		func(c *Config) {
			c.Key, c.GroupBy = []string{"span.name", `spanevent.attributes["a"]`}, `resource.attributes["a"]`
		},
	} {
		add(change)
	}

	rapid.Check(t, func(t *rapid.T) {
		ld, td := drawLogs(t), drawTraces(t)
		for _, r := range ofLogs {
			holdAgainstWhole(t, r, func(b *Batch) { r.Logs(ld, testNow, b) }, func(b *Batch) {
				n := r.Needs(SignalLogs)
				stripped, sizes := stripLogs(ld, n)
				if n.Size {
					b.Sizes = sizes
				}
				r.Logs(stripped, testNow, b)
			})
		}
		for _, r := range ofTraces {
			holdAgainstWhole(t, r, func(b *Batch) { r.Traces(td, testNow, b) }, func(b *Batch) {
				n := r.Needs(SignalTraces)
				stripped, sizes := stripTraces(td, n)
				if n.Size {
					b.Sizes = sizes
				}
				r.Traces(stripped, testNow, b)
			})
		}
	})
}

func holdAgainstWhole(t *rapid.T, r *Rule, whole, stripped func(*Batch)) {
	var want, got Batch
	whole(&want)
	stripped(&got)
	require.Equal(t, want.Keys, got.Keys, "%+v", r.config)
	require.Equal(t, want.Weights, got.Weights, "%+v", r.config)
	require.Equal(t, want.Groups, got.Groups, "%+v", r.config)
	require.Equal(t, want.Times, got.Times, "%+v", r.config)
	require.Equal(t, want.Skipped, got.Skipped, "%+v", r.config)
}

func TestSizesAreOfTheirOwnRecords(t *testing.T) {
	r := compiled(t, func(c *Config) {
		c.Key, c.Weight, c.Conditions = []string{"log.body"}, WeightBytes, []string{"log.flags != 1"}
	})
	ld := logsOf(3, func(i int, lr plog.LogRecord) {
		lr.Body().SetStr("k")
		lr.SetFlags(plog.LogRecordFlags(i))
	})
	b := Batch{Sizes: []int{10, 20, 30}}
	r.Logs(ld, testNow, &b)
	require.Equal(t, []uint64{10, 30}, b.Weights)
	b.Reset()
	r.Logs(ld, testNow, &b)
	require.Equal(t, countLogs(r, ld).Weights, b.Weights, "Reset forgets them")
}

// keep copies the attributes that n names.
func (n *Needs) keep(context string, from, to pcommon.Map) {
	for k, v := range from.All() {
		if _, twice := to.Get(k); slices.Contains(n.Maps, context) || slices.Contains(n.Attributes, Attribute{context, k}) && !twice {
			v.CopyTo(to.PutEmpty(k))
		}
	}
}

// when calls set where n names the field.
func (n *Needs) when(field string, set func()) {
	if slices.Contains(n.Fields, field) {
		set()
	}
}

func (n *Needs) keepResource(from, to pcommon.Resource) {
	n.keep("resource", from.Attributes(), to.Attributes())
	n.when("resource.dropped_attributes_count", func() { to.SetDroppedAttributesCount(from.DroppedAttributesCount()) })
}

func (n *Needs) keepScope(from, to pcommon.InstrumentationScope) {
	n.keep("scope", from.Attributes(), to.Attributes())
	n.when("scope.name", func() { to.SetName(from.Name()) })
	n.when("scope.version", func() { to.SetVersion(from.Version()) })
	n.when("scope.dropped_attributes_count", func() { to.SetDroppedAttributesCount(from.DroppedAttributesCount()) })
}

func stripLogs(ld plog.Logs, n Needs) (stripped plog.Logs, sizes []int) {
	stripped = plog.NewLogs()
	for _, rl := range ld.ResourceLogs().All() {
		toResource := stripped.ResourceLogs().AppendEmpty()
		n.keepResource(rl.Resource(), toResource.Resource())
		n.when("resource.schema_url", func() { toResource.SetSchemaUrl(rl.SchemaUrl()) })
		for _, sl := range rl.ScopeLogs().All() {
			toScope := toResource.ScopeLogs().AppendEmpty()
			n.keepScope(sl.Scope(), toScope.Scope())
			n.when("scope.schema_url", func() { toScope.SetSchemaUrl(sl.SchemaUrl()) })
			for _, from := range sl.LogRecords().All() {
				n.stripRecord(from, toScope.LogRecords().AppendEmpty())
				sizes = append(sizes, logSizer.LogRecordSize(from))
			}
		}
	}
	return stripped, sizes
}

func (n *Needs) stripRecord(from, to plog.LogRecord) {
	to.SetTimestamp(pcommon.Timestamp(LogTime(from, testNow)))
	n.when(fieldTime, func() { to.SetTimestamp(from.Timestamp()) })
	n.when(fieldObserved, func() { to.SetObservedTimestamp(from.ObservedTimestamp()) })
	n.keep("log", from.Attributes(), to.Attributes())
	n.when("log.body", func() { from.Body().CopyTo(to.Body()) })
	n.when("log.severity_text", func() { to.SetSeverityText(from.SeverityText()) })
	n.when("log.severity_number", func() { to.SetSeverityNumber(from.SeverityNumber()) })
	n.when("log.event_name", func() { to.SetEventName(from.EventName()) })
	n.when("log.flags", func() { to.SetFlags(from.Flags()) })
	n.when("log.dropped_attributes_count", func() { to.SetDroppedAttributesCount(from.DroppedAttributesCount()) })
	n.when("log.trace_id", func() { to.SetTraceID(from.TraceID()) })
	n.when("log.span_id", func() { to.SetSpanID(from.SpanID()) })
}

func stripTraces(td ptrace.Traces, n Needs) (stripped ptrace.Traces, sizes []int) {
	stripped = ptrace.NewTraces()
	for _, rs := range td.ResourceSpans().All() {
		toResource := stripped.ResourceSpans().AppendEmpty()
		n.keepResource(rs.Resource(), toResource.Resource())
		n.when("resource.schema_url", func() { toResource.SetSchemaUrl(rs.SchemaUrl()) })
		for _, ss := range rs.ScopeSpans().All() {
			toScope := toResource.ScopeSpans().AppendEmpty()
			n.keepScope(ss.Scope(), toScope.Scope())
			n.when("scope.schema_url", func() { toScope.SetSchemaUrl(ss.SchemaUrl()) })
			for _, from := range ss.Spans().All() {
				n.stripSpan(from, toScope.Spans().AppendEmpty())
				sizes = append(sizes, spanSizer.SpanSize(from))
			}
		}
	}
	return stripped, sizes
}

func (n *Needs) stripSpan(from, to ptrace.Span) {
	to.SetEndTimestamp(pcommon.Timestamp(SpanTime(from, false, testNow)))
	n.when(fieldStart, func() { to.SetStartTimestamp(from.StartTimestamp()) })
	n.when(fieldEnd, func() { to.SetEndTimestamp(from.EndTimestamp()) })
	n.keep("span", from.Attributes(), to.Attributes())
	n.when("span.name", func() { to.SetName(from.Name()) })
	n.when("span.kind", func() { to.SetKind(from.Kind()) })
	n.when("span.status", func() { from.Status().CopyTo(to.Status()) })
	n.when("span.trace_id", func() { to.SetTraceID(from.TraceID()) })
	n.when("span.span_id", func() { to.SetSpanID(from.SpanID()) })
	n.when("span.parent_span_id", func() { to.SetParentSpanID(from.ParentSpanID()) })
	n.when("span.trace_state", func() { from.TraceState().CopyTo(to.TraceState()) })
	n.when("span.flags", func() { to.SetFlags(from.Flags()) })
	n.when("span.events", func() { from.Events().CopyTo(to.Events()) })
	n.when("span.links", func() { from.Links().CopyTo(to.Links()) })
	n.when("span.dropped_attributes_count", func() { to.SetDroppedAttributesCount(from.DroppedAttributesCount()) })
	n.when("span.dropped_events_count", func() { to.SetDroppedEventsCount(from.DroppedEventsCount()) })
	n.when("span.dropped_links_count", func() { to.SetDroppedLinksCount(from.DroppedLinksCount()) })
}
