package archive

// leaves are the numbers of a file's leaf columns. Those of the other signal are not set.
type leaves struct {
	time, nanos, from int

	observed, observedNanos                     int
	severity, severityText, event, body, bodyOf int

	start, startNanos               int
	name, kind, status, message     int
	parent, state                   int
	events                          eventLeaves
	links                           linkLeaves
	eventsDropped, linksDropped     int
	traceID, spanID, flags, dropped int
	attributes                      mapLeaves
	scopeName, scopeVersion         int
	scopeAttributes                 mapLeaves
	scopeDropped, scopeSchema       int
	resourceAttributes              mapLeaves
	resourceDropped, resourceSchema int
	size, otlp                      int
}

type eventLeaves struct {
	time, nanos, name, dropped int
	attributes                 mapLeaves
}

type linkLeaves struct {
	traceID, spanID, state, flags, dropped int
	attributes                             mapLeaves
}

const (
	eventsPrefix = "events.list.element."
	linksPrefix  = "links.list.element."
)

// newLeaves finds them in l. columns may hold some that l does not.
func newLeaves(l *layout, columns []Column) leaves {
	own := "log"
	if _, spans := l.leaf["start_time"]; spans {
		own = "span"
	}
	return leaves{
		time: l.leaf["time"], nanos: l.leaf["time_nanos"], from: l.leaf["time_from"],
		observed: l.leaf["observed_time"], observedNanos: l.leaf["observed_time_nanos"],
		severity: l.leaf["severity_number"], severityText: l.leaf["severity_text"], event: l.leaf["event_name"],
		body: l.leaf["body"], bodyOf: l.leaf["body"+typeSuffix],
		start: l.leaf["start_time"], startNanos: l.leaf["start_time_nanos"],
		name: l.leaf["name"], kind: l.leaf["kind"], status: l.leaf["status_code"], message: l.leaf["status_message"],
		parent: l.leaf["parent_span_id"], state: l.leaf["trace_state"],
		events: eventLeaves{
			time: l.leaf[eventsPrefix+"time"], nanos: l.leaf[eventsPrefix+"time_nanos"], name: l.leaf[eventsPrefix+"name"],
			dropped: l.leaf[eventsPrefix+"dropped_attributes_count"], attributes: l.mapLeaves(eventsPrefix+"attributes", "", nil),
		},
		links: linkLeaves{
			traceID: l.leaf[linksPrefix+"trace_id"], spanID: l.leaf[linksPrefix+"span_id"], state: l.leaf[linksPrefix+"trace_state"],
			flags: l.leaf[linksPrefix+"flags"], dropped: l.leaf[linksPrefix+"dropped_attributes_count"],
			attributes: l.mapLeaves(linksPrefix+"attributes", "", nil),
		},
		eventsDropped: l.leaf["dropped_events_count"], linksDropped: l.leaf["dropped_links_count"],
		traceID: l.leaf["trace_id"], spanID: l.leaf["span_id"], flags: l.leaf["flags"], dropped: l.leaf["dropped_attributes_count"],
		attributes: l.mapLeaves("attributes", own, columns),
		scopeName:  l.leaf["scope_name"], scopeVersion: l.leaf["scope_version"],
		scopeAttributes: l.mapLeaves("scope_attributes", "scope", columns),
		scopeDropped:    l.leaf["scope_dropped_attributes_count"], scopeSchema: l.leaf["scope_schema_url"],
		resourceAttributes: l.mapLeaves("resource_attributes", "resource", columns),
		resourceDropped:    l.leaf["resource_dropped_attributes_count"], resourceSchema: l.leaf["resource_schema_url"],
		size: l.leaf["size"], otlp: l.leaf["otlp"],
	}
}
