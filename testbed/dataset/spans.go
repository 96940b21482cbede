package dataset

import (
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

type spanRef struct {
	resource pcommon.Resource
	scope    pcommon.InstrumentationScope
	origin   int
	span     ptrace.Span
}

// spans is a stream under construction.
type spans struct {
	*Stream
	refs []spanRef
}

// spanStream is of all spans, by their start; keys are added to it.
func spanStream(all []ptrace.Traces) *spans {
	s := &spans{Stream: &Stream{Name: "spans", Signal: "traces"}}
	var origins []spanRef
	for _, td := range all {
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				ref := spanRef{resource: rs.Resource(), scope: ss.Scope(), origin: len(origins)}
				origins = append(origins, ref)
				for _, ref.span = range ss.Spans().All() {
					s.refs = append(s.refs, ref)
					s.Times = append(s.Times, int64(ref.span.StartTimestamp()))
				}
			}
		}
	}
	refs := s.refs
	s.origin = func(i int) int { return refs[i].origin }
	s.put = func(origin int, res pcommon.Resource, scope pcommon.InstrumentationScope) {
		origins[origin].resource.CopyTo(res)
		origins[origin].scope.CopyTo(scope)
	}
	s.putSpan = func(i int, to ptrace.Span) { refs[i].span.CopyTo(to) }
	return s
}

func (s *spans) add(name string, text func(spanRef) string, paths ...string) {
	values, _ := texts(s.refs, text)
	s.addKey(name, values, paths...)
}

// addFields adds the keys that every set of OTLP spans has.
func (s *spans) addFields() {
	service := resourceText("service.name")
	s.add("service.name", service, resourceAttribute("service.name"))
	s.add("name", spanName, "span.name")
	s.add("service_name", joined(service, spanName), resourceAttribute("service.name"), "span.name")
	s.add("kind", func(r spanRef) string { return strconv.Itoa(int(r.span.Kind())) }, "span.kind")
}

func (s *spans) addResource(names ...string) {
	for _, name := range names {
		s.add(name, resourceText(name), resourceAttribute(name))
	}
}

func (s *spans) addAttributes(names ...string) {
	for _, name := range names {
		s.add(name, func(r spanRef) string { return text(r.span.Attributes(), name) }, spanAttribute(name))
	}
}

func resourceText(name string) func(spanRef) string {
	return func(r spanRef) string { return text(r.resource.Attributes(), name) }
}

func spanName(r spanRef) string { return r.span.Name() }

// unifyStatus gives spans the older name of the status code where they have the newer one alone.
func (s *spans) unifyStatus() {
	for _, ref := range s.refs {
		attributes := ref.span.Attributes()
		if _, ok := attributes.Get("http.status_code"); ok {
			continue
		}
		if code, ok := attributes.Get("http.response.status_code"); ok {
			attributes.PutStr("http.status_code", code.AsString())
		}
	}
}

// joined is the text of a composite key as exact.json has it.
func joined(parts ...func(spanRef) string) func(spanRef) string {
	return func(r spanRef) string {
		list := make([]string, len(parts))
		for i, part := range parts {
			list[i] = part(r)
		}
		return strings.Join(list, "|")
	}
}
