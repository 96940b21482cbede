package rule

import (
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/ottl"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/ottl/contexts/ottlspan"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/ottl/ottlfuncs"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// spanCursor stands on a span.
type spanCursor struct {
	place
	span  ptrace.Span
	sizes []int // of all spans of the walk; nil: not known
	at    int   // how many spans came before
	ottl  *ottlspan.TransformContext
}

var spans = func() *kind[spanCursor, *ottlspan.TransformContext] {
	resource, scope := outer(func(c *spanCursor) *place { return &c.place })
	return &kind[spanCursor, *ottlspan.TransformContext]{
		name:   "spans",
		signal: SignalTraces,
		contexts: map[string]fields[spanCursor]{
			"span":     spanFields(perRecord, func(c *spanCursor) ptrace.Span { return c.span }),
			"scope":    scope,
			"resource": resource,
		},
		functions: []function[*ottlspan.TransformContext]{{ottlfuncs.NewIsRootSpanFactory(), "span.parent_span_id"}},
		transform: func(c *spanCursor) *ottlspan.TransformContext { return c.ottl },
		size: func(c *spanCursor) int {
			if c.sizes != nil {
				return c.sizes[c.at]
			}
			return spanSizer.SpanSize(c.span)
		},
		parser: func(functions map[string]ottl.Factory[*ottlspan.TransformContext], set component.TelemetrySettings, names ottl.Option[*ottlspan.TransformContext]) (ottl.Parser[*ottlspan.TransformContext], error) {
			return ottlspan.NewParser(functions, set, names)
		},
		keep: func(r *Rule, p *plan[spanCursor]) { r.spans = p },
	}
}()

var spanSizer ptrace.ProtoMarshaler

// spanFields are the plain paths of a span, for cursors that stand on one or on one of its events.
func spanFields[C any](l level, span func(*C) ptrace.Span) fields[C] {
	return fields[C]{
		level: l,
		maps: map[string]func(*C) pcommon.Map{
			"attributes": func(c *C) pcommon.Map { return span(c).Attributes() },
		},
		plain: map[string]func(*C, *value){
			"name":                     func(c *C, v *value) { v.setText(span(c).Name()) },
			"kind":                     func(c *C, v *value) { v.setInt(int64(span(c).Kind())) },
			"kind.string":              func(c *C, v *value) { v.setText(span(c).Kind().String()) },
			"status.code":              func(c *C, v *value) { v.setInt(int64(span(c).Status().Code())) },
			"status.message":           func(c *C, v *value) { v.setText(span(c).Status().Message()) },
			"trace_id":                 func(c *C, v *value) { v.setTraceID(span(c).TraceID()) },
			"trace_id.string":          func(c *C, v *value) { v.setTraceID(span(c).TraceID()) },
			"span_id":                  func(c *C, v *value) { v.setSpanID(span(c).SpanID()) },
			"span_id.string":           func(c *C, v *value) { v.setSpanID(span(c).SpanID()) },
			"parent_span_id":           func(c *C, v *value) { v.setSpanID(span(c).ParentSpanID()) },
			"parent_span_id.string":    func(c *C, v *value) { v.setSpanID(span(c).ParentSpanID()) },
			"trace_state":              func(c *C, v *value) { v.setText(span(c).TraceState().AsRaw()) },
			"flags":                    func(c *C, v *value) { v.setInt(int64(span(c).Flags())) },
			"start_time_unix_nano":     func(c *C, v *value) { v.setInt(int64(span(c).StartTimestamp())) },
			"end_time_unix_nano":       func(c *C, v *value) { v.setInt(int64(span(c).EndTimestamp())) },
			"dropped_attributes_count": func(c *C, v *value) { v.setInt(int64(span(c).DroppedAttributesCount())) },
			"dropped_events_count":     func(c *C, v *value) { v.setInt(int64(span(c).DroppedEventsCount())) },
			"dropped_links_count":      func(c *C, v *value) { v.setInt(int64(span(c).DroppedLinksCount())) },
		},
	}
}

// Traces appends to b what the rule finds; now (Unix nanoseconds) is the time of spans that carry none.
func (r *Rule) Traces(td ptrace.Traces, now int64, b *Batch) {
	switch {
	case r.spans != nil:
		walkSpans(r.spans, td, r.config.Time == TimeStart, now, b)
	case r.events != nil:
		walkEvents(r.events, td, now, b)
	}
}

func walkSpans(p *plan[spanCursor], td ptrace.Traces, byStart bool, now int64, b *Batch) {
	p.begin(b, td.SpanCount())
	c := &b.spans
	c.sizes = b.Sizes
	for i := range td.ResourceSpans().Len() {
		rs := td.ResourceSpans().At(i)
		c.resource, c.resourceSchema = rs.Resource(), rs.SchemaUrl()
		p.enter(perResource, c, b)
		for j := range rs.ScopeSpans().Len() {
			ss := rs.ScopeSpans().At(j)
			c.scope, c.scopeSchema = ss.Scope(), ss.SchemaUrl()
			p.enter(perScope, c, b)
			records := ss.Spans()
			for k := range records.Len() {
				c.span = records.At(k)
				if p.expresses {
					c.ottl = ottlspan.NewTransformContext(rs, ss, c.span)
				}
				p.record(c, SpanTime(c.span, byStart, now), b)
				c.at++
				if p.expresses {
					c.ottl.Close()
				}
			}
		}
	}
	*c = spanCursor{}
}

// SpanTime is the event time of a span: its end, or by start its start; else the other, else now (Unix nanoseconds).
func SpanTime(s ptrace.Span, start bool, now int64) int64 {
	if start {
		return firstTime(now, s.StartTimestamp(), s.EndTimestamp())
	}
	return firstTime(now, s.EndTimestamp(), s.StartTimestamp())
}
