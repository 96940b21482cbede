package archive

import (
	"slices"

	"github.com/parquet-go/parquet-go"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// lastPlace is the place of the record before, with the values that stand for it: most records have the same one, and its texts are
// the same memory.
type lastPlace struct {
	known           bool
	resource, scope lastAttributes
	fields          [4]string
	dropped         [2]uint32

	leaves  []int
	values  [][]parquet.Value // by leaves
	bytes   int
	present []int // places of promoted attributes that are there
	exact   bool
}

// lastAttributes are some that are all text.
type lastAttributes []string // name, value, name, value, …

// set says whether they can be held.
func (l *lastAttributes) set(m pcommon.Map) bool {
	*l = (*l)[:0]
	for name, v := range m.All() {
		if v.Type() != pcommon.ValueTypeStr {
			return false
		}
		*l = append(*l, name, v.Str())
	}
	return true
}

func (l lastAttributes) are(m pcommon.Map) bool {
	if len(l) != 2*m.Len() {
		return false
	}
	i := 0
	for name, v := range m.All() {
		if v.Type() != pcommon.ValueTypeStr || name != l[i] || v.Str() != l[i+1] {
			return false
		}
		i += 2
	}
	return true
}

// place writes what records have in common.
func (w *Writer) place(r pcommon.Resource, schema string, s pcommon.InstrumentationScope, scopeSchema string) (exact bool) {
	last := &w.last
	fields := [...]string{s.Name(), s.Version(), scopeSchema, schema}
	dropped := [...]uint32{s.DroppedAttributesCount(), r.DroppedAttributesCount()}
	if last.known && last.fields == fields && last.dropped == dropped && last.scope.are(s.Attributes()) && last.resource.are(r.Attributes()) {
		for i, leaf := range last.leaves {
			w.sink.values[leaf] = append(w.sink.values[leaf], last.values[i]...)
		}
		w.sink.bytes += last.bytes
		for _, p := range last.present {
			w.present[p]++
		}
		return last.exact
	}

	bytes, from := w.sink.bytes, make([]int, len(last.leaves))
	for i, leaf := range last.leaves {
		from[i] = len(w.sink.values[leaf])
	}
	last.exact = w.writePlace(r, schema, s, scopeSchema)
	last.fields, last.dropped, last.bytes = fields, dropped, w.sink.bytes-bytes
	last.known = last.scope.set(s.Attributes()) && last.resource.set(r.Attributes())
	for i, leaf := range last.leaves {
		last.values[i] = append(last.values[i][:0], w.sink.values[leaf][from[i]:]...)
	}
	last.present = w.leaves.scopeAttributes.present(last.present[:0], s.Attributes())
	last.present = w.leaves.resourceAttributes.present(last.present, r.Attributes())
	return last.exact
}

// present appends the places of promoted attributes that are in m.
func (l *mapLeaves) present(dst []int, m pcommon.Map) []int {
	for i := range l.promoted {
		if _, ok := m.Get(l.promoted[i].name); ok {
			dst = append(dst, l.promoted[i].place)
		}
	}
	return dst
}

func (w *Writer) writePlace(r pcommon.Resource, schema string, s pcommon.InstrumentationScope, scopeSchema string) (exact bool) {
	l := &w.leaves
	exact = w.text(l.scopeName, s.Name(), at{})
	exact = w.text(l.scopeVersion, s.Version(), at{}) && exact
	exact = w.sink.attributes(&l.scopeAttributes, s.Attributes(), at{}, w.present) && exact
	w.sink.long(l.scopeDropped, int64(s.DroppedAttributesCount()), at{})
	exact = w.text(l.scopeSchema, scopeSchema, at{}) && exact
	exact = w.sink.attributes(&l.resourceAttributes, r.Attributes(), at{}, w.present) && exact
	w.sink.long(l.resourceDropped, int64(r.DroppedAttributesCount()), at{})
	return w.text(l.resourceSchema, schema, at{}) && exact
}

// placeLeaves are the leaf columns that a place fills.
func (l *leaves) placeLeaves() []int {
	list := []int{l.scopeName, l.scopeVersion, l.scopeDropped, l.scopeSchema, l.resourceDropped, l.resourceSchema}
	for _, m := range []*mapLeaves{&l.scopeAttributes, &l.resourceAttributes} {
		list = append(list, m.key, m.value, m.types)
		for _, p := range m.promoted {
			list = append(list, p.text, p.kind)
		}
	}
	return slices.Sorted(slices.Values(list))
}
