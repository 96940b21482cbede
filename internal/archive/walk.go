package archive

import (
	"fmt"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otel-topk/collector/internal/rule"
)

// walk goes through the records of a file.
type walk struct {
	r       *Reader
	needs   wanted
	leaves  []*leafReader // that are read, in their order
	held    held
	records tree
	left    int64 // records of the row group
	b       Batch

	time, nanos, from, otlp, size *leafReader
	times                         bool // each time of a record by itself; else its event time
	head                          head
	ahead                         bool // head is of the next record, which did not fit the last batch

	scope, resource placeReader
	whole           []byte  // records that stand in otlp
	counts          [][]int // of the batch, by resource and scope
	timeless        bool    // b.Now is set
	number          int     // of the row group
}

// head is what decides whether a record fits a batch.
type head struct {
	ns   int64
	from string
	otlp string // "": the columns hold it
}

// tree is the pdata of batches, reused from one to the next. Places are asked for in order; what a batch does not ask for is not in it.
type tree interface {
	resource(i int) (pcommon.Resource, func(schema string))
	scope(i, j int) (pcommon.InstrumentationScope, func(schema string))
	record(i, j, k int, h *head) error
	skip(h *head) error                    // over a record that stands in otlp
	trim(resources int, records [][]int)   // records[i][j] are in the scope j of the resource i
	into(b *Batch)                         // the tree
	wholeInto(b *Batch, otlp []byte) error // what stands in otlp instead
}

// wanted is rule.Needs, with all of them where Whole is true.
type wanted struct {
	rule.Needs
}

func (n *wanted) field(name string) bool { return n.Whole || slices.Contains(n.Fields, name) }

func (n *wanted) names(context string) (whole bool, names []string) {
	for _, a := range n.Attributes {
		if a.Context == context {
			names = append(names, a.Name)
		}
	}
	return n.Whole || slices.Contains(n.Maps, context), names
}

// known are the fields that can be read alone.
var known = map[string]bool{}

func init() {
	for context, names := range map[string]string{
		"log": "time_unix_nano observed_time_unix_nano severity_number severity_text event_name body trace_id span_id flags dropped_attributes_count",
		"span": "start_time_unix_nano end_time_unix_nano name kind status trace_id span_id parent_span_id trace_state flags " +
			"dropped_attributes_count events dropped_events_count links dropped_links_count",
		"scope":    "name version dropped_attributes_count schema_url",
		"resource": "dropped_attributes_count schema_url",
	} {
		for name := range strings.FieldsSeq(names) {
			known[context+"."+name] = true
		}
	}
}

func newWalk(r *Reader, needs rule.Needs) *walk {
	for _, f := range needs.Fields {
		needs.Whole = needs.Whole || !known[f]
	}
	for _, m := range needs.Maps {
		needs.Whole = needs.Whole || !slices.Contains([]string{"log", "span", "scope", "resource"}, m)
	}
	w := &walk{r: r, needs: wanted{needs}}
	l := &r.leaves
	w.time, w.nanos, w.from, w.otlp = w.leaf(l.time), w.leaf(l.nanos), w.leaf(l.from), w.leaf(l.otlp)
	if needs.Size {
		w.size = w.leaf(l.size)
		w.b.Sizes = []int{}
	}
	w.scope = placeReader{
		attributes: w.attributes("scope", &l.scopeAttributes, 1),
		name:       w.wants("scope.name", l.scopeName), version: w.wants("scope.version", l.scopeVersion),
		dropped: w.wants("scope.dropped_attributes_count", l.scopeDropped), schema: w.wants("scope.schema_url", l.scopeSchema),
	}
	w.resource = placeReader{
		attributes: w.attributes("resource", &l.resourceAttributes, 1),
		dropped:    w.wants("resource.dropped_attributes_count", l.resourceDropped), schema: w.wants("resource.schema_url", l.resourceSchema),
	}
	if r.meta.Signal == rule.SignalTraces {
		w.records = newSpanTree(w)
	} else {
		w.records = newLogTree(w)
	}
	slices.SortFunc(w.leaves, func(a, b *leafReader) int { return a.number - b.number })
	return w
}

// leaf is the reader of a column, which is then read.
func (w *walk) leaf(number int) *leafReader {
	for _, l := range w.leaves {
		if l.number == number {
			return l
		}
	}
	path := w.r.layout.schema.Columns()[number]
	l := &leafReader{number: number, level: w.r.layout.leaves[number], path: strings.Join(path, ".")}
	w.leaves = append(w.leaves, l)
	return l
}

// wants is the reader of a column whose field is needed; else nil.
func (w *walk) wants(field string, number int) *leafReader {
	if !w.needs.field(field) {
		return nil
	}
	return w.leaf(number)
}

// attributes is the reader of those that are needed of a context. deep is the repetition level of a further entry.
func (w *walk) attributes(context string, from *mapLeaves, deep byte) attributeReader {
	a := attributeReader{deep: deep}
	a.whole, a.names = w.needs.names(context)
	for _, p := range from.promoted {
		if i := slices.Index(a.names, p.name); i >= 0 {
			a.names = slices.Delete(a.names, i, i+1)
		} else if !a.whole {
			continue
		}
		a.promoted = append(a.promoted, promotedReader{p.name, w.leaf(p.text), w.leaf(p.kind)})
	}
	if a.whole || len(a.names) > 0 {
		a.key, a.value, a.types = w.leaf(from.key), w.leaf(from.value), w.leaf(from.types)
	}
	return a
}

// close lets go of memory.
func (w *walk) close() {
	for _, l := range w.leaves {
		l.close()
	}
}

// group begins a row group.
func (w *walk) group(g int) (err error) {
	defer recovered(&err)
	if err := w.r.load(g, w.leaves, &w.held); err != nil {
		return err
	}
	rows := w.r.file.RowGroups()[g]
	chunks := rows.ColumnChunks()
	for _, l := range w.leaves {
		l.begin(chunks[l.number].(*parquet.FileColumnChunk).PagesFrom(&w.held))
	}
	w.left, w.number = rows.NumRows(), g
	return nil
}

// damaged names where. What a column says of itself goes before what follows from it.
func (w *walk) damaged(err error) error {
	if broken := w.broken(); broken != nil {
		err = broken
	}
	return fmt.Errorf("%w: row group %d: %w", ErrDamaged, w.number, err)
}

// batch reads the next records, at least one.
func (w *walk) batch() (b *Batch, err error) {
	defer recovered(&err)
	w.begin()
	n := 0
	for ; n < batchRows && w.left > 0; n++ {
		if !w.ahead {
			w.readHead()
		}
		if w.ahead = n > 0 && !w.fits(); w.ahead {
			break
		}
		if err := w.take(); err != nil {
			return nil, w.damaged(err)
		}
		w.left--
	}
	if err := w.broken(); err != nil {
		return nil, w.damaged(err)
	}
	if err := w.end(); err != nil {
		return nil, w.damaged(err)
	}
	return &w.b, nil
}

// broken is the error of a column that could not be read on: all that it gave since is empty.
func (w *walk) broken() error {
	for _, l := range w.leaves {
		if l.err != nil {
			return l.err
		}
	}
	return nil
}

// readHead reads what decides whether the next record fits the batch.
func (w *walk) readHead() {
	w.head.ns = w.time.nextLong()*1000 + w.nanos.nextLong()
	w.head.from = w.from.nextText()
	w.head.otlp = w.otlp.someText()
}

// timelessNext says whether the record that the batch gets carries no time.
func (w *walk) timelessNext() bool {
	return w.head.ns <= 0 || w.head.from == fromArrival && (w.times || w.head.otlp != "")
}

func (w *walk) begin() {
	w.counts, w.whole, w.timeless = w.counts[:0], w.whole[:0], false
	w.b.Now = 0
	if w.b.Sizes != nil {
		w.b.Sizes = w.b.Sizes[:0]
	}
	w.scope.known, w.resource.known = false, false
}

// fits says whether the next record can be in the batch, which is not empty.
func (w *walk) fits() bool {
	return (w.head.otlp != "") == (len(w.whole) > 0) && (!w.timeless || !w.timelessNext() || w.b.Now == w.head.ns)
}

// take reads the rest of the record into the batch.
func (w *walk) take() error {
	if w.timelessNext() {
		w.timeless, w.b.Now = true, w.head.ns
	}
	newScope, err := w.scope.next()
	if err != nil {
		return err
	}
	newResource, err := w.resource.next()
	if err != nil {
		return err
	}
	if w.size != nil {
		w.b.Sizes = append(w.b.Sizes, int(w.size.nextLong()))
	}
	if w.head.otlp != "" {
		w.whole = append(w.whole, w.head.otlp...)
		return w.records.skip(&w.head)
	}
	i := len(w.counts) - 1
	if newResource {
		i++
		if w.counts = slices.Grow(w.counts, 1)[:i+1]; w.counts[i] != nil {
			w.counts[i] = w.counts[i][:0]
		}
		resource, schema := w.records.resource(i)
		if err := w.resource.fill(resource.Attributes(), resource.SetDroppedAttributesCount, schema); err != nil {
			return err
		}
	}
	if newScope || newResource {
		w.counts[i] = append(w.counts[i], 0)
		scope, schema := w.records.scope(i, len(w.counts[i])-1)
		scope.SetName(w.scope.values.name)
		scope.SetVersion(w.scope.values.version)
		if err := w.scope.fill(scope.Attributes(), scope.SetDroppedAttributesCount, schema); err != nil {
			return err
		}
	}
	j := len(w.counts[i]) - 1
	k := w.counts[i][j]
	w.counts[i][j]++
	return w.records.record(i, j, k, &w.head)
}

// end makes the batch of what was taken.
func (w *walk) end() error {
	if len(w.whole) > 0 {
		return w.records.wholeInto(&w.b, w.whole)
	}
	w.records.trim(len(w.counts), w.counts)
	w.records.into(&w.b)
	return nil
}

// attributesIn is the reader of all attributes of an event or link.
func (w *walk) attributesIn(from *mapLeaves) attributeReader {
	return attributeReader{whole: true, key: w.leaf(from.key), value: w.leaf(from.value), types: w.leaf(from.types), deep: 2}
}
