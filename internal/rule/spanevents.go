package rule

import (
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/ottl"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/ottl/contexts/ottlspanevent"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// eventCursor stands on an event of a span.
type eventCursor struct {
	place
	span  ptrace.Span
	event ptrace.SpanEvent
	ottl  *ottlspanevent.TransformContext
}

var spanEvents = func() *kind[eventCursor, *ottlspanevent.TransformContext] {
	resource, scope := outer(func(c *eventCursor) *place { return &c.place })
	return &kind[eventCursor, *ottlspanevent.TransformContext]{
		name:   "span events",
		signal: SignalTraces,
		contexts: map[string]fields[eventCursor]{
			"spanevent": {
				level: perRecord,
				maps: map[string]func(*eventCursor) pcommon.Map{
					"attributes": func(c *eventCursor) pcommon.Map { return c.event.Attributes() },
				},
				plain: map[string]func(*eventCursor, *value){
					"name":                     func(c *eventCursor, v *value) { v.setText(c.event.Name()) },
					"time_unix_nano":           func(c *eventCursor, v *value) { v.setInt(int64(c.event.Timestamp())) },
					"dropped_attributes_count": func(c *eventCursor, v *value) { v.setInt(int64(c.event.DroppedAttributesCount())) },
				},
			},
			"span":     spanFields(perParent, func(c *eventCursor) ptrace.Span { return c.span }),
			"scope":    scope,
			"resource": resource,
		},
		transform: func(c *eventCursor) *ottlspanevent.TransformContext { return c.ottl },
		parser: func(functions map[string]ottl.Factory[*ottlspanevent.TransformContext], set component.TelemetrySettings, names ottl.Option[*ottlspanevent.TransformContext]) (ottl.Parser[*ottlspanevent.TransformContext], error) {
			return ottlspanevent.NewParser(functions, set, names)
		},
		keep: func(r *Rule, p *plan[eventCursor]) { r.events = p },
	}
}()

func walkEvents(p *plan[eventCursor], td ptrace.Traces, now int64, b *Batch) {
	p.begin(b, 0)
	c := &b.events
	for i := range td.ResourceSpans().Len() {
		rs := td.ResourceSpans().At(i)
		c.resource, c.resourceSchema = rs.Resource(), rs.SchemaUrl()
		p.enter(perResource, c, b)
		for j := range rs.ScopeSpans().Len() {
			ss := rs.ScopeSpans().At(j)
			c.scope, c.scopeSchema = ss.Scope(), ss.SchemaUrl()
			p.enter(perScope, c, b)
			for k := range ss.Spans().Len() {
				c.span = ss.Spans().At(k)
				events := c.span.Events()
				if events.Len() == 0 {
					continue
				}
				p.enter(perParent, c, b)
				for l := range events.Len() {
					c.event = events.At(l)
					if p.expresses {
						c.ottl = ottlspanevent.NewTransformContext(rs, ss, c.span, c.event)
					}
					p.record(c, EventTime(c.span, c.event, now), b)
					if p.expresses {
						c.ottl.Close()
					}
				}
			}
		}
	}
	*c = eventCursor{}
}

// EventTime is the time of a span event: its own, else that of its span by its end.
func EventTime(s ptrace.Span, event ptrace.SpanEvent, now int64) int64 {
	return firstTime(SpanTime(s, false, now), event.Timestamp(), 0)
}
