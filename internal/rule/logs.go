package rule

import (
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/ottl"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/ottl/contexts/ottllog"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
)

// logCursor stands on a log record.
type logCursor struct {
	place
	record plog.LogRecord
	sizes  []int // of all records of the walk; nil: not known
	at     int   // how many records came before
	ottl   *ottllog.TransformContext
}

var logRecords = func() *kind[logCursor, *ottllog.TransformContext] {
	resource, scope := outer(func(c *logCursor) *place { return &c.place })
	return &kind[logCursor, *ottllog.TransformContext]{
		name:   "log records",
		signal: SignalLogs,
		contexts: map[string]fields[logCursor]{
			"log": {
				level: perRecord,
				maps: map[string]func(*logCursor) pcommon.Map{
					"attributes": func(c *logCursor) pcommon.Map { return c.record.Attributes() },
				},
				plain: map[string]func(*logCursor, *value){
					"body":                     func(c *logCursor, v *value) { v.setValue(c.record.Body()) },
					"body.string":              func(c *logCursor, v *value) { v.setText(stringOf(c.record.Body())) },
					"severity_text":            func(c *logCursor, v *value) { v.setText(c.record.SeverityText()) },
					"severity_number":          func(c *logCursor, v *value) { v.setInt(int64(c.record.SeverityNumber())) },
					"event_name":               func(c *logCursor, v *value) { v.setText(c.record.EventName()) },
					"flags":                    func(c *logCursor, v *value) { v.setInt(int64(c.record.Flags())) },
					"dropped_attributes_count": func(c *logCursor, v *value) { v.setInt(int64(c.record.DroppedAttributesCount())) },
					"trace_id":                 func(c *logCursor, v *value) { v.setTraceID(c.record.TraceID()) },
					"trace_id.string":          func(c *logCursor, v *value) { v.setTraceID(c.record.TraceID()) },
					"span_id":                  func(c *logCursor, v *value) { v.setSpanID(c.record.SpanID()) },
					"span_id.string":           func(c *logCursor, v *value) { v.setSpanID(c.record.SpanID()) },
					"time_unix_nano":           func(c *logCursor, v *value) { v.setInt(int64(c.record.Timestamp())) },
					"observed_time_unix_nano":  func(c *logCursor, v *value) { v.setInt(int64(c.record.ObservedTimestamp())) },
				},
			},
			"scope":    scope,
			"resource": resource,
		},
		transform: func(c *logCursor) *ottllog.TransformContext { return c.ottl },
		size: func(c *logCursor) int {
			if c.sizes != nil {
				return c.sizes[c.at]
			}
			return logSizer.LogRecordSize(c.record)
		},
		parser: func(functions map[string]ottl.Factory[*ottllog.TransformContext], set component.TelemetrySettings, names ottl.Option[*ottllog.TransformContext]) (ottl.Parser[*ottllog.TransformContext], error) {
			return ottllog.NewParser(functions, set, names)
		},
		keep: func(r *Rule, p *plan[logCursor]) { r.logs = p },
	}
}()

var logSizer plog.ProtoMarshaler

// Logs appends to b what the rule finds; now (Unix nanoseconds) is the time of log records that carry none.
func (r *Rule) Logs(ld plog.Logs, now int64, b *Batch) {
	p := r.logs
	if p == nil {
		return
	}
	p.begin(b, ld.LogRecordCount())
	c := &b.logs
	c.sizes = b.Sizes
	for i := range ld.ResourceLogs().Len() {
		rl := ld.ResourceLogs().At(i)
		c.resource, c.resourceSchema = rl.Resource(), rl.SchemaUrl()
		p.enter(perResource, c, b)
		for j := range rl.ScopeLogs().Len() {
			sl := rl.ScopeLogs().At(j)
			c.scope, c.scopeSchema = sl.Scope(), sl.SchemaUrl()
			p.enter(perScope, c, b)
			records := sl.LogRecords()
			for k := range records.Len() {
				c.record = records.At(k)
				if p.expresses {
					c.ottl = ottllog.NewTransformContext(rl, sl, c.record)
				}
				p.record(c, LogTime(c.record, now), b)
				c.at++
				if p.expresses {
					c.ottl.Close()
				}
			}
		}
	}
	*c = logCursor{}
}

// LogTime is the event time of a log record: its timestamp, else when it was observed, else now (Unix nanoseconds).
func LogTime(record plog.LogRecord, now int64) int64 {
	return firstTime(now, record.Timestamp(), record.ObservedTimestamp())
}
