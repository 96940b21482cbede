package archive

import (
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/otel-topk/collector/internal/rule"
)

// typeSuffix is of the column that holds the type of another one's values, typesSuffix of all values of a map.
const (
	typeSuffix  = "_type"
	typesSuffix = "_types"
)

// layout is the columns of a file: what is told of each in FORMAT.md, in this order.
type layout struct {
	schema *parquet.Schema
	names  []string       // of the columns, in order
	leaf   map[string]int // number of a leaf column by its path, with dots
	leaves []level
}

// level is the largest repetition and definition level of a leaf column.
type level struct{ repetition, definition byte }

var (
	codec = &zstd.Codec{Level: zstd.SpeedDefault}

	textNode     = parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
	bytesNode    = parquet.Encoded(parquet.Leaf(parquet.ByteArrayType), &parquet.RLEDictionary)
	uniqueNode   = parquet.Encoded(parquet.String(), &parquet.Plain) // texts that hardly repeat
	rawNode      = parquet.Encoded(parquet.Leaf(parquet.ByteArrayType), &parquet.Plain)
	intNode      = parquet.Encoded(parquet.Leaf(parquet.Int32Type), &parquet.RLEDictionary)
	longNode     = parquet.Encoded(parquet.Leaf(parquet.Int64Type), &parquet.RLEDictionary)
	momentNode   = parquet.Encoded(parquet.Timestamp(parquet.Microsecond), &parquet.DeltaBinaryPacked)
	textMapNode  = parquet.Map(textNode, parquet.Optional(textNode))
	optionalText = parquet.Optional(textNode)
)

// field is a column by its name.
type field struct {
	name string
	node parquet.Node
}

// fields is a group whose columns keep their order; those of parquet.Group come sorted.
type fields struct {
	parquet.Group
	order []string
}

func (f fields) Fields() []parquet.Field {
	sorted := f.Group.Fields()
	slices.SortFunc(sorted, func(a, b parquet.Field) int {
		return slices.Index(f.order, a.Name()) - slices.Index(f.order, b.Name())
	})
	return sorted
}

func group(list []field) fields {
	g := fields{Group: parquet.Group{}}
	for _, f := range list {
		g.Group[f.name] = f.node
		g.order = append(g.order, f.name)
	}
	return g
}

// mapFields are a map of texts and the types of its values.
func mapFields(name string) []field {
	return []field{{name, textMapNode}, {name + typesSuffix, parquet.Optional(bytesNode)}}
}

var timeFields = []field{{"time", momentNode}, {"time_nanos", intNode}, {"time_from", textNode}}

// logFields and spanFields stand between timeFields and those of all signals.
var logFields = slices.Concat([]field{
	{"observed_time", parquet.Optional(momentNode)},
	{"observed_time_nanos", parquet.Optional(intNode)},
	{"severity_number", intNode},
	{"severity_text", textNode},
	{"event_name", textNode},
	{"body", optionalText},
	{"body" + typeSuffix, parquet.Optional(bytesNode)},
	{"trace_id", parquet.Optional(uniqueNode)},
	{"span_id", parquet.Optional(uniqueNode)},
	{"flags", longNode},
}, mapFields("attributes"), []field{{"dropped_attributes_count", longNode}})

var spanFields = slices.Concat([]field{
	{"start_time", parquet.Optional(momentNode)},
	{"start_time_nanos", parquet.Optional(intNode)},
	{"name", textNode},
	{"kind", intNode},
	{"status_code", intNode},
	{"status_message", textNode},
	{"trace_id", parquet.Optional(uniqueNode)},
	{"span_id", parquet.Optional(uniqueNode)},
	{"parent_span_id", parquet.Optional(uniqueNode)},
	{"trace_state", textNode},
	{"flags", longNode},
}, mapFields("attributes"), []field{
	{"dropped_attributes_count", longNode},
	{"events", parquet.List(group(slices.Concat([]field{
		{"time", momentNode},
		{"time_nanos", intNode},
		{"name", textNode},
	}, mapFields("attributes"), []field{{"dropped_attributes_count", longNode}})))},
	{"dropped_events_count", longNode},
	{"links", parquet.List(group(slices.Concat([]field{
		{"trace_id", parquet.Optional(uniqueNode)},
		{"span_id", parquet.Optional(uniqueNode)},
		{"trace_state", textNode},
		{"flags", longNode},
	}, mapFields("attributes"), []field{{"dropped_attributes_count", longNode}})))},
	{"dropped_links_count", longNode},
})

var placeFields = slices.Concat([]field{
	{"scope_name", textNode},
	{"scope_version", textNode},
}, mapFields("scope_attributes"), []field{
	{"scope_dropped_attributes_count", longNode},
	{"scope_schema_url", textNode},
}, mapFields("resource_attributes"), []field{
	{"resource_dropped_attributes_count", longNode},
	{"resource_schema_url", textNode},
	{"size", longNode},
	{"otlp", parquet.Optional(rawNode)},
})

// layoutOf a file of the signal with these columns, which fit it.
func layoutOf(signal string, columns []Column) *layout {
	list, name := slices.Clone(timeFields), "log"
	for _, c := range columns {
		list = append(list, field{c.Name, optionalText}, field{c.Name + typeSuffix, parquet.Optional(bytesNode)})
	}
	if signal == rule.SignalTraces {
		name = "span"
		list = append(list, spanFields...)
	} else {
		list = append(list, logFields...)
	}
	list = append(list, placeFields...)

	root := group(list)
	l := &layout{schema: parquet.NewSchema(name, root), names: root.order, leaf: map[string]int{}}
	for i, path := range l.schema.Columns() {
		l.leaf[strings.Join(path, ".")] = i
		found, _ := l.schema.Lookup(path...)
		l.leaves = append(l.leaves, level{byte(found.MaxRepetitionLevel), byte(found.MaxDefinitionLevel)})
	}
	return l
}
