package table

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math"

	"github.com/parquet-go/parquet-go"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/seal"
)

// rowsAtOnce is how many rows are handed to Parquet together. A page ends no later than that after it is full.
const rowsAtOnce = 64

// Write a table of rows, which come sorted by scope, group and key; each list of a rule is there, the global one too. The same rows
// and meta give the same bytes. Memory is that of a row group and of the sums.
func Write(w io.Writer, meta Meta, rows iter.Seq2[Row, error]) error {
	sealed := seal.NewWriter(w)
	p := parquet.NewGenericWriter[columns](sealed, writerOptions()...)
	b := builder{writer: p, rows: make([]columns, 0, rowsAtOnce)}
	for row, err := range rows {
		if err != nil {
			return err
		}
		if err := b.add(&row); err != nil {
			return err
		}
	}
	if err := b.flush(); err != nil {
		return err
	}
	f := footer{Meta: meta}
	if err := b.place(&f); err != nil {
		return err
	}
	text, sums, err := f.encode(b.total)
	if err != nil {
		return err
	}
	if err := p.Flush(); err != nil {
		return err
	}
	p.SetKeyValueMetadata(metaKey, text)
	p.SetKeyValueMetadata(sumsKey, sums)
	for _, pair := range sealed.BeginTail() {
		p.SetKeyValueMetadata(pair[0], pair[1])
	}
	if err := p.Close(); err != nil {
		return err
	}
	return sealed.Finish()
}

// builder writes rows and adds them up.
type builder struct {
	writer  *parquet.GenericWriter[columns]
	rows    []columns
	bytes   int   // of keys and groups in this row group
	inGroup int64 // rows of it
	total   int64 // rows
	last    Row
	sums    []Sum
	ends    []int64 // row after the last of each list
}

// place says in f where the lists lie.
func (b *builder) place(f *footer) error {
	if f.First == 0 {
		f.Sums, f.ends = b.sums, b.ends
		return nil
	}
	f.ends = make([]int64, len(f.Sums))
	end, placed := int64(0), 0
	for i := range f.Sums {
		if i > 0 && CompareGroups(f.Sums[i-1].Group, f.Sums[i].Group) >= 0 {
			return errors.New("table: sums are not sorted by scope and group")
		}
		if placed < len(b.sums) && b.sums[placed].Group == f.Sums[i].Group {
			end = b.ends[placed]
			placed++
		}
		f.ends[i] = end
	}
	if placed < len(b.sums) {
		return errors.New("table: rows of a list without a sum")
	}
	return nil
}

func (b *builder) add(row *Row) error {
	switch {
	case b.total > 0 && compare(&b.last, row) >= 0:
		return fmt.Errorf("table: row %d is not sorted by scope, group and key, or there twice", b.total)
	case row.Records > math.MaxInt64:
		return fmt.Errorf("table: row %d has %d records, allowed are %d", b.total, row.Records, uint64(math.MaxInt64))
	case int(row.Group.Scope) > int(rule.ScopeOverflow) || row.Group.Scope != rule.ScopeGroup && row.Group.Name != "":
		return fmt.Errorf("table: row %d is of no list", b.total)
	}
	if err := b.sum(row); err != nil {
		return err
	}
	b.last = *row
	b.total++
	b.inGroup++
	b.bytes += len(row.Key) + len(row.Group.Name)
	b.rows = append(b.rows, columns{row.Group.Scope.String(), row.Group.Name, row.Key, int64(row.Weight), int64(row.Records)})
	if full := b.inGroup == rowGroupRows || b.bytes >= rowGroupBytes; full || len(b.rows) == rowsAtOnce || len(row.Key) >= pageBytes/rowsAtOnce {
		if err := b.flush(); err != nil || !full {
			return err
		}
		b.bytes, b.inGroup = 0, 0
		return b.writer.Flush()
	}
	return nil
}

func (b *builder) sum(row *Row) error {
	if n := len(b.sums); n == 0 || b.sums[n-1].Group != row.Group {
		b.sums, b.ends = append(b.sums, Sum{Group: row.Group}), append(b.ends, b.total)
	}
	s := &b.sums[len(b.sums)-1]
	if row.Weight > MaxWeight-s.Weight {
		return fmt.Errorf("table: the weights of a list add up to more than %d", uint64(MaxWeight))
	}
	s.Weight += row.Weight
	s.Records += row.Records
	if row.Weight > 0 {
		s.Distinct++
	}
	b.ends[len(b.ends)-1]++
	return nil
}

func (b *builder) flush() error {
	_, err := b.writer.Write(b.rows)
	clear(b.rows)
	b.rows = b.rows[:0]
	return err
}
