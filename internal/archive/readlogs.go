package archive

import (
	"encoding/hex"
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
)

// logTree is the tree of a file of logs.
type logTree struct {
	logs    plog.Logs
	skipped plog.LogRecord
	records plog.LogRecordSlice // of the scope that was asked for last

	observed, observedNanos, severity, severityText, event, body, bodyOf *leafReader
	traceID, spanID, flags, dropped                                      *leafReader
	attributes                                                           attributeReader
}

func newLogTree(w *walk) *logTree {
	l := &w.r.leaves
	t := &logTree{logs: plog.NewLogs(), skipped: plog.NewLogRecord()}
	if w.times = w.needs.field("log.time_unix_nano") || w.needs.field("log.observed_time_unix_nano"); w.times {
		t.observed, t.observedNanos = w.leaf(l.observed), w.leaf(l.observedNanos)
	}
	t.severity, t.severityText = w.wants("log.severity_number", l.severity), w.wants("log.severity_text", l.severityText)
	t.event = w.wants("log.event_name", l.event)
	t.body, t.bodyOf = w.wants("log.body", l.body), w.wants("log.body", l.bodyOf)
	t.traceID, t.spanID = w.wants("log.trace_id", l.traceID), w.wants("log.span_id", l.spanID)
	t.flags, t.dropped = w.wants("log.flags", l.flags), w.wants("log.dropped_attributes_count", l.dropped)
	t.attributes = w.attributes("log", &l.attributes, 1)
	return t
}

func (t *logTree) resource(i int) (pcommon.Resource, func(string)) {
	all := t.logs.ResourceLogs()
	if i == all.Len() {
		all.AppendEmpty()
	}
	return all.At(i).Resource(), all.At(i).SetSchemaUrl
}

func (t *logTree) scope(i, j int) (pcommon.InstrumentationScope, func(string)) {
	all := t.logs.ResourceLogs().At(i).ScopeLogs()
	if j == all.Len() {
		all.AppendEmpty()
	}
	t.records = all.At(j).LogRecords()
	return all.At(j).Scope(), all.At(j).SetSchemaUrl
}

func (t *logTree) record(_, _, k int, h *head) error {
	if k == t.records.Len() {
		return t.fill(t.records.AppendEmpty(), h)
	}
	return t.fill(t.records.At(k), h)
}

func (t *logTree) skip(h *head) error { return t.fill(t.skipped, h) }

// fill sets what is needed; a record that was filled before is reused.
func (t *logTree) fill(r plog.LogRecord, h *head) (err error) {
	if t.observed == nil {
		r.SetTimestamp(pcommon.Timestamp(max(h.ns, 0)))
	} else {
		stamp := pcommon.Timestamp(0)
		if h.from == fromTimestamp {
			stamp = pcommon.Timestamp(h.ns)
		}
		r.SetTimestamp(stamp)
		r.SetObservedTimestamp(moment(t.observed, t.observedNanos))
	}
	if t.severity != nil {
		r.SetSeverityNumber(plog.SeverityNumber(t.severity.nextLong()))
	}
	if t.severityText != nil {
		r.SetSeverityText(t.severityText.nextText())
	}
	if t.event != nil {
		r.SetEventName(t.event.nextText())
	}
	if t.body != nil {
		err = fillBody(r.Body(), t.body, t.bodyOf)
	}
	if t.traceID != nil {
		id, bad := traceIDOf(t.traceID)
		r.SetTraceID(id)
		err = errors.Join(err, bad)
	}
	if t.spanID != nil {
		id, bad := spanIDOf(t.spanID)
		r.SetSpanID(id)
		err = errors.Join(err, bad)
	}
	if t.flags != nil {
		r.SetFlags(plog.LogRecordFlags(t.flags.nextLong()))
	}
	if t.dropped != nil {
		r.SetDroppedAttributesCount(uint32(t.dropped.nextLong()))
	}
	if t.attributes.reads() && err == nil {
		if err = t.attributes.next(); err == nil {
			err = t.attributes.fill(r.Attributes())
		}
	}
	return err
}

func fillBody(v pcommon.Value, text, kind *leafReader) error {
	p, ok, err := nextSingle(text, kind)
	if err != nil {
		return err
	}
	if !ok {
		p.letter = typeEmpty
	}
	return p.setIn(v)
}

// moment is a second time of a record; 0: none.
func moment(micros, nanos *leafReader) (t pcommon.Timestamp) {
	if micros.some() {
		t = pcommon.Timestamp(micros.long() * 1000)
	}
	if nanos.some() {
		t += pcommon.Timestamp(nanos.long())
	}
	return t
}

func traceIDOf(l *leafReader) (id pcommon.TraceID, err error) { return id, decodeID(id[:], l) }
func spanIDOf(l *leafReader) (id pcommon.SpanID, err error)   { return id, decodeID(id[:], l) }

func decodeID(id []byte, l *leafReader) error {
	if text := l.someText(); text != "" {
		if n, err := hex.Decode(id, []byte(text)); err != nil || n != len(id) {
			return fmt.Errorf("column %s: an id is not of %d hexadecimal digits", l.path, 2*len(id))
		}
	}
	return nil
}

func (t *logTree) trim(resources int, records [][]int) {
	all := t.logs.ResourceLogs()
	if n := 0; all.Len() > resources {
		all.RemoveIf(func(plog.ResourceLogs) bool { n++; return n > resources })
	}
	for i, counts := range records {
		scopes := all.At(i).ScopeLogs()
		if n := 0; scopes.Len() > len(counts) {
			scopes.RemoveIf(func(plog.ScopeLogs) bool { n++; return n > len(counts) })
		}
		for j, count := range counts {
			if n, in := 0, scopes.At(j).LogRecords(); in.Len() > count {
				in.RemoveIf(func(plog.LogRecord) bool { n++; return n > count })
			}
		}
	}
}

func (t *logTree) into(b *Batch) { b.Logs = t.logs }

func (t *logTree) wholeInto(b *Batch, otlp []byte) (err error) {
	var u plog.ProtoUnmarshaler
	b.Logs, err = u.UnmarshalLogs(otlp)
	return err
}
