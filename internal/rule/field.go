package rule

import (
	"context"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/ottl"
)

const fieldEvents = "span.events"

// storedFields names the field that a path without attributes reads: its context and the first name after it.
var storedFields = func() map[string]string {
	stored := map[string]string{
		"log.time": fieldTime, "log.observed_time": fieldObserved,
		"span.start_time": fieldStart, "span.end_time": fieldEnd,
	}
	for context, names := range map[string][]string{
		"log": {
			"body", "severity_text", "severity_number", "event_name", "flags", "dropped_attributes_count", "trace_id", "span_id",
			"time_unix_nano", "observed_time_unix_nano",
		},
		"span": {
			"name", "kind", "status", "trace_id", "span_id", "parent_span_id", "trace_state", "flags", "start_time_unix_nano",
			"end_time_unix_nano", "events", "links", "dropped_attributes_count", "dropped_events_count", "dropped_links_count",
		},
		"scope":    {"name", "version", "dropped_attributes_count", "schema_url"},
		"resource": {"dropped_attributes_count", "schema_url"},
	} {
		for _, name := range names {
			stored[context+"."+name] = context + "." + name
		}
	}
	return stored
}()

// notePath adds what p reads. What is not known of a path is Whole.
func notePath[T any](n *Needs, p ottl.Path[T]) {
	name, keys := p.Name(), p.Keys()
	for next := p.Next(); next != nil; next = next.Next() {
		next.Keys() // OTTL refuses a path that was not read to its end
	}
	switch field, known := storedFields[p.Context()+"."+name]; {
	case p.Context() == "spanevent":
		n.Fields = append(n.Fields, fieldEvents)
	case known:
		n.Fields = append(n.Fields, field)
	case name != "attributes":
		n.Whole = true
	case len(keys) == 0:
		n.Maps = append(n.Maps, p.Context())
	default:
		var none T
		if attribute, err := keys[0].String(context.Background(), none); err == nil && attribute != nil {
			n.Attributes = append(n.Attributes, Attribute{p.Context(), *attribute})
		} else {
			n.Maps = append(n.Maps, p.Context())
		}
	}
}
