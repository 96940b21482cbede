package table

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/otel-topk/collector/internal/rule"
)

// Rows of one list, sorted by key.
func (t *Table) Rows(ctx context.Context, g rule.Group) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		if i, found := find(t.footer.Sums, g); found {
			t.yield(ctx, i, yield)
		}
	}
}

// All rows, sorted by scope, group and key.
func (t *Table) All(ctx context.Context) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for i := range t.footer.Sums {
			if !t.yield(ctx, i, yield) {
				return
			}
		}
	}
}

// yield the rows of list i, and say whether to go on.
func (t *Table) yield(ctx context.Context, i int, yield func(Row, error) bool) bool {
	from, to := t.footer.place(i)
	s := &scan{table: t, source: source{from: t.file}, sum: &t.footer.Sums[i], from: from, to: to}
	defer s.close()
	for {
		batch, err := s.next(ctx)
		if err != nil {
			yield(Row{}, err)
			return false
		}
		if len(batch) == 0 {
			return true
		}
		for i := range batch {
			if !yield(batch[i], nil) {
				return false
			}
		}
	}
}

// scan reads the rows of one list.
type scan struct {
	table    *Table
	source   source
	sum      *Sum
	from, to int64 // rows that are left
	group    int   // row group that is open, one more; 0: none is
	columns  [columnCount]column
	batch    []Row
	last     string
	rows     int64
}

const scannedAtOnce = 1024

// next rows; none at the end.
func (s *scan) next(ctx context.Context) ([]Row, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.batch = s.batch[:0]
	if s.from == s.to {
		return nil, nil
	}
	err := s.source.survive(s.read)
	return s.batch, err
}

var errOrder = errors.New("rows are not sorted")

func (s *scan) read() error {
	if s.group == 0 || s.from == s.table.groups[s.group-1].to {
		s.open()
	}
	g := &s.table.groups[s.group-1]
	n := min(s.to, g.to) - s.from
	n = min(n, scannedAtOnce)
	for i := keyColumn; i < columnCount; i++ {
		if err := s.columns[i].read(s.from-g.from, int(n)); err != nil {
			return err
		}
	}
	keys, weights, records := s.columns[keyColumn].keys, s.columns[weightColumn].numbers, s.columns[recordsColumn].numbers
	for i := range int(n) {
		row := Row{s.sum.Group, keys[i], uint64(weights[i]), uint64(records[i])}
		if s.rows > 0 && row.Key <= s.last || row.Weight > MaxWeight || row.Records > MaxWeight {
			return errOrder
		}
		s.last = row.Key
		s.rows++
		s.batch = append(s.batch, row)
	}
	s.from += n
	return nil
}

// open the row group that the next row is in.
func (s *scan) open() {
	s.close()
	i, _ := slices.BinarySearchFunc(s.table.groups, s.from, func(g rowGroup, row int64) int {
		if row >= g.to {
			return -1
		}
		return 1
	})
	s.group = i + 1
	for c := keyColumn; c < columnCount; c++ {
		s.columns[c].pages = s.table.groups[i].columns[c].PagesFrom(&s.source)
	}
}

func (s *scan) close() {
	for c := range s.columns {
		s.columns[c].close()
	}
	s.group = 0
}

// column reads one column of a row group: keys, or numbers.
type column struct {
	pages   *parquet.FilePages
	at      int64 // row that comes next
	page    parquet.Page
	left    parquet.ValueReader // of page
	values  []parquet.Value
	keys    []string
	numbers []int64
}

var errShort = errors.New("a column ends early")

// read n values from row on.
func (c *column) read(row int64, n int) error {
	if c.page == nil || c.at != row {
		c.release()
		if err := c.pages.SeekToRow(row); err != nil {
			return err
		}
	}
	c.at = row + int64(n)
	c.keys, c.numbers = c.keys[:0], c.numbers[:0]
	for n > 0 {
		if c.page == nil {
			p, err := c.pages.ReadPage()
			if errors.Is(err, io.EOF) {
				return errShort
			}
			if err != nil {
				return err
			}
			c.page, c.left = p, p.Values()
		}
		c.values = slices.Grow(c.values[:0], n)[:n]
		got, err := c.left.ReadValues(c.values)
		c.take(c.values[:got])
		n -= got
		switch {
		case errors.Is(err, io.EOF):
			c.release()
		case err != nil:
			return err
		case got == 0:
			return errShort
		}
	}
	return nil
}

// take values out of their page.
func (c *column) take(values []parquet.Value) {
	for i := range values {
		if v := &values[i]; v.Kind() == parquet.ByteArray {
			c.keys = append(c.keys, string(v.ByteArray()))
		} else {
			c.numbers = append(c.numbers, v.Int64())
		}
	}
}

func (c *column) release() {
	if c.page != nil {
		parquet.Release(c.page)
	}
	c.page, c.left = nil, nil
}

func (c *column) close() {
	c.release()
	if c.pages != nil {
		_ = c.pages.Close() // it returns its buffer
	}
	c.pages = nil
}
