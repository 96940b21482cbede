package archive

import (
	"encoding/hex"
	"math"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otel-topk/collector/internal/rule"
)

// What the event time of a record was.
const (
	fromTimestamp = "timestamp" // of a log record
	fromObserved  = "observed"
	fromEnd       = "end" // of a span
	fromStart     = "start"
	fromArrival   = "arrival"
)

// split is ns as whole microseconds and what is beyond them, also before 1970.
func split(ns int64) (micros int64, nanos int32) {
	micros, rest := ns/1000, ns%1000
	if rest < 0 {
		micros, rest = micros-1, rest+1000
	}
	return micros, int32(rest)
}

// splitTimestamp is split of the whole range of a timestamp.
func splitTimestamp(t pcommon.Timestamp) (micros int64, nanos int32) {
	return int64(t / 1000), int32(t % 1000)
}

func (w *Writer) time(ns int64, from string) {
	micros, nanos := split(ns)
	w.sink.long(w.leaves.time, micros, at{})
	w.sink.int(w.leaves.nanos, nanos, at{})
	w.sink.text(w.leaves.from, from, at{})
}

// moment is a second time of a record; 0 is none.
func (w *Writer) moment(leaf, nanosLeaf int, t pcommon.Timestamp) {
	if t == 0 {
		w.sink.none(leaf, at{})
		w.sink.none(nanosLeaf, at{})
		return
	}
	micros, nanos := splitTimestamp(t)
	w.sink.long(leaf, micros, at{definition: 1})
	w.sink.int(nanosLeaf, nanos, at{definition: 1})
}

// text of a required column, repaired; exact says that it needed none.
func (w *Writer) text(leaf int, s string, a at) (exact bool) {
	if utf8.ValidString(s) {
		w.sink.text(leaf, s, a)
		return true
	}
	w.sink.text(leaf, rule.Repaired(s), a)
	return false
}

func (w *Writer) traceID(leaf int, id pcommon.TraceID, a at) {
	if id.IsEmpty() {
		w.sink.none(leaf, a)
		return
	}
	w.sink.some(leaf, w.hexed(id[:]), a)
}

func (w *Writer) spanID(leaf int, id pcommon.SpanID, a at) {
	if id.IsEmpty() {
		w.sink.none(leaf, a)
		return
	}
	w.sink.some(leaf, w.hexed(id[:]), a)
}

func (w *Writer) hexed(id []byte) []byte {
	from := len(w.sink.arena)
	w.sink.arena = hex.AppendEncode(w.sink.arena, id)
	return w.sink.arena[from:len(w.sink.arena):len(w.sink.arena)]
}

func (w *Writer) log(r plog.LogRecord, now int64) (exact bool) {
	l := &w.leaves
	at0 := at{}
	from := fromTimestamp
	switch {
	case r.Timestamp() != 0:
	case r.ObservedTimestamp() != 0:
		from = fromObserved
	default:
		from = fromArrival
	}
	exact = r.Timestamp() <= math.MaxInt64 && r.ObservedTimestamp() <= math.MaxInt64
	w.time(rule.LogTime(r, now), from)
	w.moment(l.observed, l.observedNanos, r.ObservedTimestamp())
	w.sink.int(l.severity, int32(r.SeverityNumber()), at0)
	exact = w.text(l.severityText, r.SeverityText(), at0) && exact
	exact = w.text(l.event, r.EventName(), at0) && exact
	if r.Body().Type() == pcommon.ValueTypeEmpty {
		w.sink.none(l.body, at0)
		w.sink.none(l.bodyOf, at0)
	} else {
		exact = w.sink.single(l.body, l.bodyOf, r.Body(), at0) && exact
	}
	w.traceID(l.traceID, r.TraceID(), at0)
	w.spanID(l.spanID, r.SpanID(), at0)
	w.sink.long(l.flags, int64(r.Flags()), at0)
	w.sink.long(l.dropped, int64(r.DroppedAttributesCount()), at0)
	return w.sink.attributes(&l.attributes, r.Attributes(), at0, w.present) && exact
}

func (w *Writer) span(s ptrace.Span, now int64) (exact bool) {
	l := &w.leaves
	at0 := at{}
	from := fromEnd
	switch {
	case s.EndTimestamp() != 0:
	case s.StartTimestamp() != 0:
		from = fromStart
	default:
		from = fromArrival
	}
	exact = s.EndTimestamp() <= math.MaxInt64 && s.StartTimestamp() <= math.MaxInt64
	w.time(rule.SpanTime(s, false, now), from)
	w.moment(l.start, l.startNanos, s.StartTimestamp())
	w.began(s, now)
	exact = w.text(l.name, s.Name(), at0) && exact
	w.sink.int(l.kind, int32(s.Kind()), at0)
	w.sink.int(l.status, int32(s.Status().Code()), at0)
	exact = w.text(l.message, s.Status().Message(), at0) && exact
	w.traceID(l.traceID, s.TraceID(), at0)
	w.spanID(l.spanID, s.SpanID(), at0)
	w.spanID(l.parent, s.ParentSpanID(), at0)
	exact = w.text(l.state, s.TraceState().AsRaw(), at0) && exact
	w.sink.long(l.flags, int64(s.Flags()), at0)
	w.sink.long(l.dropped, int64(s.DroppedAttributesCount()), at0)
	w.sink.long(l.eventsDropped, int64(s.DroppedEventsCount()), at0)
	w.sink.long(l.linksDropped, int64(s.DroppedLinksCount()), at0)
	exact = w.sink.attributes(&l.attributes, s.Attributes(), at0, w.present) && exact
	exact = w.events(s.Events()) && exact
	return w.links(s.Links()) && exact
}

// began notes when a span began, as rules by start have it, and its events.
func (w *Writer) began(s ptrace.Span, now int64) {
	start := rule.SpanTime(s, true, now)
	if w.rows == 0 {
		w.meta.First, w.meta.Last = start, start
	}
	w.meta.First, w.meta.Last = min(w.meta.First, start), max(w.meta.Last, start)
	for _, e := range s.Events().All() {
		ns := rule.EventTime(s, e, now)
		w.meta.First, w.meta.Last = min(w.meta.First, ns), max(w.meta.Last, ns)
	}
}

func (w *Writer) events(events ptrace.SpanEventSlice) (exact bool) {
	l := &w.leaves.events
	exact = true
	if events.Len() == 0 {
		for _, leaf := range []int{l.time, l.nanos, l.name, l.dropped, l.attributes.key, l.attributes.value, l.attributes.types} {
			w.sink.none(leaf, at{})
		}
	}
	in := at{definition: 1}
	for _, e := range events.All() {
		micros, nanos := splitTimestamp(e.Timestamp())
		w.sink.long(l.time, micros, in)
		w.sink.int(l.nanos, nanos, in)
		exact = w.text(l.name, e.Name(), in) && exact
		exact = w.sink.attributes(&l.attributes, e.Attributes(), in, nil) && exact
		w.sink.long(l.dropped, int64(e.DroppedAttributesCount()), in)
		in.repetition = 1
	}
	return exact
}

func (w *Writer) links(links ptrace.SpanLinkSlice) (exact bool) {
	l := &w.leaves.links
	exact = true
	if links.Len() == 0 {
		for _, leaf := range []int{l.traceID, l.spanID, l.state, l.flags, l.dropped, l.attributes.key, l.attributes.value, l.attributes.types} {
			w.sink.none(leaf, at{})
		}
	}
	in := at{definition: 1}
	for _, k := range links.All() {
		w.traceID(l.traceID, k.TraceID(), in)
		w.spanID(l.spanID, k.SpanID(), in)
		exact = w.text(l.state, k.TraceState().AsRaw(), in) && exact
		w.sink.long(l.flags, int64(k.Flags()), in)
		exact = w.sink.attributes(&l.attributes, k.Attributes(), in, nil) && exact
		w.sink.long(l.dropped, int64(k.DroppedAttributesCount()), in)
		in.repetition = 1
	}
	return exact
}

var (
	logSizer  plog.ProtoMarshaler
	spanSizer ptrace.ProtoMarshaler
)

// wholeLog is the record with its place as OTLP protobuf.
func wholeLog(rl plog.ResourceLogs, sl plog.ScopeLogs, record plog.LogRecord) ([]byte, error) {
	ld := plog.NewLogs()
	to := ld.ResourceLogs().AppendEmpty()
	rl.Resource().CopyTo(to.Resource())
	to.SetSchemaUrl(rl.SchemaUrl())
	scope := to.ScopeLogs().AppendEmpty()
	sl.Scope().CopyTo(scope.Scope())
	scope.SetSchemaUrl(sl.SchemaUrl())
	record.CopyTo(scope.LogRecords().AppendEmpty())
	return logSizer.MarshalLogs(ld)
}

func wholeSpan(rs ptrace.ResourceSpans, ss ptrace.ScopeSpans, span ptrace.Span) ([]byte, error) {
	td := ptrace.NewTraces()
	to := td.ResourceSpans().AppendEmpty()
	rs.Resource().CopyTo(to.Resource())
	to.SetSchemaUrl(rs.SchemaUrl())
	scope := to.ScopeSpans().AppendEmpty()
	ss.Scope().CopyTo(scope.Scope())
	scope.SetSchemaUrl(ss.SchemaUrl())
	span.CopyTo(scope.Spans().AppendEmpty())
	return spanSizer.MarshalTraces(td)
}
