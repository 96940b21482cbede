package table

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/seal"
)

// Table is an open table. Safe for concurrent use.
type Table struct {
	file   *seal.File
	footer *footer
	groups []rowGroup
	pages  []page // of keys, in order
}

// rowGroup is one of the file.
type rowGroup struct {
	columns  []*parquet.FileColumnChunk
	from, to int64 // rows of the file
}

// page of keys.
type page struct {
	from, to    int64  // rows of the file
	first, last string // the least and the greatest key
}

// Open the table in o, of which it reads the footer and the page index. o is for the caller to close. Errors are archive.ErrForeign,
// archive.ErrDamaged, or those of reading.
func Open(o archive.Object) (*Table, error) {
	file, err := seal.Open(o, o.Size())
	switch {
	case errors.Is(err, seal.ErrUnsealed):
		return nil, fmt.Errorf("table: %w: %w", archive.ErrForeign, err)
	case errors.Is(err, seal.ErrChanged):
		return nil, fmt.Errorf("table: %w: %w", archive.ErrDamaged, err)
	case err != nil:
		return nil, err
	}
	t := &Table{file: file}
	r := &source{from: file}
	return t, r.survive(func() error { return t.open(r) })
}

func (t *Table) open(r *source) error {
	file, err := parquet.OpenFile(r, t.file.Size(), parquet.SkipBloomFilters(true), parquet.ReadBufferSize(readBytes))
	if err != nil {
		return err
	}
	text, ours := file.Lookup(metaKey)
	sums, _ := file.Lookup(sumsKey)
	if !ours || !parquet.EqualNodes(file.Schema(), schema) {
		return archive.ErrForeign
	}
	if t.footer, err = decodeFooter(text, sums, file.NumRows()); err != nil {
		return err
	}
	for _, g := range file.RowGroups() {
		if err := t.add(g); err != nil {
			return err
		}
	}
	if t.rows() != file.NumRows() {
		return errFooter
	}
	return nil
}

func (t *Table) rows() int64 {
	if len(t.groups) == 0 {
		return 0
	}
	return t.groups[len(t.groups)-1].to
}

// add a row group and the index of its keys.
func (t *Table) add(g parquet.RowGroup) error {
	chunks := g.ColumnChunks()
	if len(chunks) != columnCount || g.NumRows() <= 0 {
		return fmt.Errorf("%d columns of %d rows", len(chunks), g.NumRows())
	}
	at := rowGroup{from: t.rows(), to: t.rows() + g.NumRows()}
	for _, c := range chunks {
		chunk, ok := c.(*parquet.FileColumnChunk)
		if !ok || chunk.NumValues() != g.NumRows() {
			return errFooter
		}
		at.columns = append(at.columns, chunk)
	}
	bounds, err := chunks[keyColumn].ColumnIndex()
	if err != nil {
		return err
	}
	places, err := chunks[keyColumn].OffsetIndex()
	if err != nil {
		return err
	}
	if bounds.NumPages() != places.NumPages() || places.NumPages() == 0 || places.FirstRowIndex(0) != 0 {
		return errFooter
	}
	for i := range places.NumPages() {
		p := page{from: at.from + places.FirstRowIndex(i), to: at.to, first: bounds.MinValue(i).String(), last: bounds.MaxValue(i).String()}
		if i+1 < places.NumPages() {
			p.to = at.from + places.FirstRowIndex(i+1)
		}
		if p.from >= p.to || p.to > at.to || p.first > p.last {
			return errFooter
		}
		t.pages = append(t.pages, p)
	}
	t.groups = append(t.groups, at)
	return nil
}

// Meta is what the table says of itself.
func (t *Table) Meta() *Meta { return &t.footer.Meta }

// source reads for one purpose, and remembers how that failed.
type source struct {
	from   io.ReaderAt
	failed error
}

func (s *source) ReadAt(p []byte, off int64) (int, error) {
	n, err := s.from.ReadAt(p, off)
	if err != nil && !errors.Is(err, io.EOF) {
		s.failed = err
	}
	return n, err
}

// survive calls read, and says whose fault an error is. The seal holds what is read to what was written; what was written may still be
// no table.
func (s *source) survive(read func() error) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("table: %w: %v", archive.ErrDamaged, panicked)
		}
	}()
	switch err := read(); {
	case err == nil, errors.Is(err, archive.ErrForeign):
		return err
	case s.failed != nil && !errors.Is(s.failed, seal.ErrChanged):
		return s.failed
	default:
		return fmt.Errorf("table: %w: %w", archive.ErrDamaged, err)
	}
}
