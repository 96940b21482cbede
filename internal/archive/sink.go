package archive

import (
	"unsafe"

	"github.com/parquet-go/parquet-go"
)

// sink collects the values of records for each leaf column, until they are handed on.
type sink struct {
	layout *layout
	values [][]parquet.Value
	bytes  int   // of the texts
	ofLeaf []int // bytes of the texts of a leaf column since its last page
}

func newSink(l *layout) *sink {
	return &sink{layout: l, values: make([][]parquet.Value, len(l.leaves)), ofLeaf: make([]int, len(l.leaves))}
}

func (s *sink) put(leaf int, v parquet.Value, repetition, definition int) {
	s.values[leaf] = append(s.values[leaf], v.Level(repetition, definition, leaf))
}

// at says where a value stands: the repetition level of the first one, and how many optional or repeated groups are around it.
type at struct{ repetition, definition int }

func (s *sink) int(leaf int, n int32, a at) {
	s.put(leaf, parquet.Int32Value(n), a.repetition, a.definition)
}

func (s *sink) long(leaf int, n int64, a at) {
	s.put(leaf, parquet.Int64Value(n), a.repetition, a.definition)
}

// text of a required column. The text is not copied.
func (s *sink) text(leaf int, text string, a at) {
	s.bytes += len(text)
	s.ofLeaf[leaf] += len(text)
	s.put(leaf, parquet.ByteArrayValue(unsafe.Slice(unsafe.StringData(text), len(text))), a.repetition, a.definition)
}

// some is a value of an optional column that is there.
func (s *sink) some(leaf int, value []byte, a at) {
	s.bytes += len(value)
	s.ofLeaf[leaf] += len(value)
	s.put(leaf, parquet.ByteArrayValue(value), a.repetition, a.definition+1)
}

func (s *sink) someText(leaf int, text string, a at) {
	s.some(leaf, unsafe.Slice(unsafe.StringData(text), len(text)), a)
}

// none is the absence of one, or the emptiness of a list or map.
func (s *sink) none(leaf int, a at) { s.put(leaf, parquet.NullValue(), a.repetition, a.definition) }

// writeTo hands the values on. It ends pages of long texts early: only then is a dictionary given up that grew too large.
func (s *sink) writeTo(columns []*parquet.ColumnWriter) error {
	for leaf, values := range s.values {
		if len(values) == 0 { // of a row group that just ended
			continue
		}
		if _, err := columns[leaf].WriteRowValues(values); err != nil {
			return err
		}
		if s.ofLeaf[leaf] >= pageTextBytes {
			s.ofLeaf[leaf] = 0
			if err := columns[leaf].Flush(); err != nil {
				return err
			}
		}
		clear(values)
		s.values[leaf] = values[:0]
	}
	return nil
}
