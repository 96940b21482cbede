package archive

import (
	"errors"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// spanTree is the tree of a file of spans.
type spanTree struct {
	traces  ptrace.Traces
	skipped ptrace.Span
	spans   ptrace.SpanSlice // of the scope that was asked for last

	start, startNanos, name, kind, status, message *leafReader
	traceID, spanID, parent, state, flags, dropped *leafReader
	eventsDropped, linksDropped                    *leafReader
	attributes                                     attributeReader
	events                                         *eventReader
	links                                          *linkReader
}

func newSpanTree(w *walk) *spanTree {
	l := &w.r.leaves
	t := &spanTree{traces: ptrace.NewTraces(), skipped: ptrace.NewSpan()}
	if w.times = w.needs.field("span.start_time_unix_nano") || w.needs.field("span.end_time_unix_nano"); w.times {
		t.start, t.startNanos = w.leaf(l.start), w.leaf(l.startNanos)
	}
	t.name, t.kind = w.wants("span.name", l.name), w.wants("span.kind", l.kind)
	t.status, t.message = w.wants("span.status", l.status), w.wants("span.status", l.message)
	t.traceID, t.spanID, t.parent = w.wants("span.trace_id", l.traceID), w.wants("span.span_id", l.spanID), w.wants("span.parent_span_id", l.parent)
	t.state, t.flags = w.wants("span.trace_state", l.state), w.wants("span.flags", l.flags)
	t.dropped = w.wants("span.dropped_attributes_count", l.dropped)
	t.eventsDropped, t.linksDropped = w.wants("span.dropped_events_count", l.eventsDropped), w.wants("span.dropped_links_count", l.linksDropped)
	t.attributes = w.attributes("span", &l.attributes, 1)
	if w.needs.field("span.events") {
		t.events = newEventReader(w)
	}
	if w.needs.field("span.links") {
		t.links = newLinkReader(w)
	}
	return t
}

func (t *spanTree) resource(i int) (pcommon.Resource, func(string)) {
	all := t.traces.ResourceSpans()
	if i == all.Len() {
		all.AppendEmpty()
	}
	return all.At(i).Resource(), all.At(i).SetSchemaUrl
}

func (t *spanTree) scope(i, j int) (pcommon.InstrumentationScope, func(string)) {
	all := t.traces.ResourceSpans().At(i).ScopeSpans()
	if j == all.Len() {
		all.AppendEmpty()
	}
	t.spans = all.At(j).Spans()
	return all.At(j).Scope(), all.At(j).SetSchemaUrl
}

func (t *spanTree) record(_, _, k int, h *head) error {
	if k == t.spans.Len() {
		return t.fill(t.spans.AppendEmpty(), h)
	}
	return t.fill(t.spans.At(k), h)
}

func (t *spanTree) skip(h *head) error { return t.fill(t.skipped, h) }

// fill sets what is needed; a span that was filled before is reused.
func (t *spanTree) fill(s ptrace.Span, h *head) (err error) {
	if t.start == nil {
		s.SetEndTimestamp(pcommon.Timestamp(max(h.ns, 0)))
	} else {
		end := pcommon.Timestamp(0)
		if h.from == fromEnd {
			end = pcommon.Timestamp(h.ns)
		}
		s.SetEndTimestamp(end)
		s.SetStartTimestamp(moment(t.start, t.startNanos))
	}
	for _, f := range []struct {
		from *leafReader
		set  func(string)
	}{{t.name, s.SetName}, {t.message, s.Status().SetMessage}, {t.state, s.TraceState().FromRaw}} {
		if f.from != nil {
			f.set(f.from.nextText())
		}
	}
	for _, f := range []struct {
		from *leafReader
		set  func(int64)
	}{
		{t.kind, func(n int64) { s.SetKind(ptrace.SpanKind(n)) }},
		{t.status, func(n int64) { s.Status().SetCode(ptrace.StatusCode(n)) }},
		{t.flags, func(n int64) { s.SetFlags(uint32(n)) }},
		{t.dropped, func(n int64) { s.SetDroppedAttributesCount(uint32(n)) }},
		{t.eventsDropped, func(n int64) { s.SetDroppedEventsCount(uint32(n)) }},
		{t.linksDropped, func(n int64) { s.SetDroppedLinksCount(uint32(n)) }},
	} {
		if f.from != nil {
			f.set(f.from.nextLong())
		}
	}
	if t.traceID != nil {
		id, bad := traceIDOf(t.traceID)
		s.SetTraceID(id)
		err = errors.Join(err, bad)
	}
	if t.spanID != nil {
		id, bad := spanIDOf(t.spanID)
		s.SetSpanID(id)
		err = errors.Join(err, bad)
	}
	if t.parent != nil {
		id, bad := spanIDOf(t.parent)
		s.SetParentSpanID(id)
		err = errors.Join(err, bad)
	}
	if t.attributes.reads() && err == nil {
		if err = t.attributes.next(); err == nil {
			err = t.attributes.fill(s.Attributes())
		}
	}
	if t.events != nil && err == nil {
		err = t.events.fill(s.Events())
	}
	if t.links != nil && err == nil {
		err = t.links.fill(s.Links())
	}
	return err
}

// eventReader reads the events of spans.
type eventReader struct {
	time, nanos, name, dropped *leafReader
	attributes                 attributeReader
}

func newEventReader(w *walk) *eventReader {
	l := &w.r.leaves.events
	return &eventReader{w.leaf(l.time), w.leaf(l.nanos), w.leaf(l.name), w.leaf(l.dropped), w.attributesIn(&l.attributes)}
}

func (r *eventReader) fill(to ptrace.SpanEventSlice) error {
	n := 0
	for more := true; more; {
		if !r.time.some() {
			for _, l := range []*leafReader{r.nanos, r.name, r.dropped} {
				l.next()
			}
			if err := r.attributes.next(); err != nil {
				return err
			}
			break
		}
		if n == to.Len() {
			to.AppendEmpty()
		}
		e := to.At(n)
		n++
		e.SetTimestamp(pcommon.Timestamp(r.time.long()*1000 + r.nanos.nextLong()))
		e.SetName(r.name.nextText())
		e.SetDroppedAttributesCount(uint32(r.dropped.nextLong()))
		if err := r.attributes.next(); err != nil {
			return err
		}
		if err := r.attributes.fill(e.Attributes()); err != nil {
			return err
		}
		more = r.time.ahead() > 0
	}
	if i := 0; to.Len() > n {
		to.RemoveIf(func(ptrace.SpanEvent) bool { i++; return i > n })
	}
	return nil
}

// linkReader reads the links of spans.
type linkReader struct {
	traceID, spanID, state, flags, dropped *leafReader
	attributes                             attributeReader
}

func newLinkReader(w *walk) *linkReader {
	l := &w.r.leaves.links
	return &linkReader{w.leaf(l.traceID), w.leaf(l.spanID), w.leaf(l.state), w.leaf(l.flags), w.leaf(l.dropped), w.attributesIn(&l.attributes)}
}

func (r *linkReader) fill(to ptrace.SpanLinkSlice) error {
	n := 0
	for more := true; more; {
		if !r.flags.some() {
			for _, l := range []*leafReader{r.traceID, r.spanID, r.state, r.dropped} {
				l.next()
			}
			if err := r.attributes.next(); err != nil {
				return err
			}
			break
		}
		if n == to.Len() {
			to.AppendEmpty()
		}
		k := to.At(n)
		n++
		traceID, bad := traceIDOf(r.traceID)
		spanID, worse := spanIDOf(r.spanID)
		k.SetTraceID(traceID)
		k.SetSpanID(spanID)
		k.TraceState().FromRaw(r.state.nextText())
		k.SetFlags(uint32(r.flags.long()))
		k.SetDroppedAttributesCount(uint32(r.dropped.nextLong()))
		if err := errors.Join(bad, worse, r.attributes.next()); err != nil {
			return err
		}
		if err := r.attributes.fill(k.Attributes()); err != nil {
			return err
		}
		more = r.flags.ahead() > 0
	}
	if i := 0; to.Len() > n {
		to.RemoveIf(func(ptrace.SpanLink) bool { i++; return i > n })
	}
	return nil
}

func (t *spanTree) trim(resources int, records [][]int) {
	all := t.traces.ResourceSpans()
	if n := 0; all.Len() > resources {
		all.RemoveIf(func(ptrace.ResourceSpans) bool { n++; return n > resources })
	}
	for i, counts := range records {
		scopes := all.At(i).ScopeSpans()
		if n := 0; scopes.Len() > len(counts) {
			scopes.RemoveIf(func(ptrace.ScopeSpans) bool { n++; return n > len(counts) })
		}
		for j, count := range counts {
			if n, in := 0, scopes.At(j).Spans(); in.Len() > count {
				in.RemoveIf(func(ptrace.Span) bool { n++; return n > count })
			}
		}
	}
}

func (t *spanTree) into(b *Batch) { b.Traces = t.traces }

func (t *spanTree) wholeInto(b *Batch, otlp []byte) (err error) {
	var u ptrace.ProtoUnmarshaler
	b.Traces, err = u.UnmarshalTraces(otlp)
	return err
}
