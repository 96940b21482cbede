package archive

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/parquet-go/parquet-go"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/seal"
)

var (
	// ErrForeign is of a file that otel-topk did not write.
	ErrForeign = errors.New("not a file of this archive")
	// ErrDamaged is of a file that cannot be read whole.
	ErrDamaged = errors.New("damaged")
)

// Reader reads one file. It may be read by several at once.
type Reader struct {
	sealed *seal.File
	file   *parquet.File
	meta   Meta
	rows   int64
	layout *layout
	leaves leaves
}

// NewReader opens the file in o, of which it reads the footer. Errors are ErrForeign, ErrDamaged, or those of reading.
func NewReader(o Object) (*Reader, error) {
	sealed, err := seal.Open(o, o.Size())
	if err != nil {
		return nil, damaged(err)
	}
	return open(sealed)
}

// Meta is what the file says of itself.
func (r *Reader) Meta() Meta { return r.meta }

// Rows in the file.
func (r *Reader) Rows() int64 { return r.rows }

// Batch is some records with what was asked for of them, as they were exported; reused by the next one. Attributes are in no
// order. Strings taken from it stay valid.
type Batch struct {
	Logs   plog.Logs     // of a file of logs
	Traces ptrace.Traces // of a file of traces
	Sizes  []int         // of the records as OTLP protobuf, in their order; nil: not asked for
	Now    int64         // the event time of those that carry none
}

// batchRows are the most records of a Batch.
const batchRows = 1024

// Batches are the records in the order they were written, as far as needs goes: a field that is not needed is there or is not. A
// record whose times are not needed has its event time as its only one. After an error comes nothing; it is ErrDamaged, that of ctx,
// or that of reading. The memory that it takes is that of the needed columns of one row group, at most maxGroupBytes.
func (r *Reader) Batches(ctx context.Context, needs rule.Needs) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		w := newWalk(r, needs)
		defer w.close()
		for g := range r.file.RowGroups() {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			if err := w.group(g); err != nil {
				yield(nil, err)
				return
			}
			for w.left > 0 {
				if err := ctx.Err(); err != nil {
					yield(nil, err)
					return
				}
				b, err := w.batch()
				if err != nil {
					yield(nil, err)
					return
				}
				if !yield(b, nil) {
					return
				}
			}
		}
	}
}

// maxGroupBytes is the largest row group that is read: what the writer makes, and the largest records in it.
const maxGroupBytes = 1 << 30

// load reads the needed column chunks of a row group, few large ranges at once, and holds them against their hashes.
func (r *Reader) load(group int, leaves []*leafReader, into *held) error {
	chunks := r.file.Metadata().RowGroups[group].Columns
	into.ranges = into.ranges[:0]
	var total int64
	for _, l := range leaves {
		m := &chunks[l.number].MetaData
		from := m.DataPageOffset
		if m.DictionaryPageOffset > 0 {
			from = min(from, m.DictionaryPageOffset)
		}
		to := from + m.TotalCompressedSize
		if total += m.TotalUncompressedSize; from < 0 || to < from || to > r.sealed.End() || m.TotalUncompressedSize < 0 || total > maxGroupBytes {
			return fmt.Errorf("%w: column %s lies at %d to %d, with %d bytes", ErrDamaged, l.path, from, to, m.TotalUncompressedSize)
		}
		into.add(r.sealed.Grow(from, to))
	}
	for i := range into.ranges {
		h := &into.ranges[i]
		if err := r.sealed.ReadBlocks(h.data, h.from); err != nil {
			return damaged(err)
		}
	}
	return nil
}

// gapBytes are read along, rather than asked for apart: a request to a bucket costs more.
const gapBytes = 128 << 10

// add makes room for a range, which begins behind those before it or in the last one.
func (h *held) add(from, to int64) {
	if n := len(h.ranges); n > 0 {
		last := &h.ranges[n-1]
		if end := last.from + int64(len(last.data)); from <= end+gapBytes {
			last.data = sized(last.data, max(end, to)-last.from)
			return
		}
	}
	n := len(h.ranges)
	h.ranges = slices.Grow(h.ranges, 1)[:n+1] // with the memory of the row group before
	h.ranges[n] = heldRange{from: from, data: sized(h.ranges[n].data, to-from)}
}

// sized is p with n bytes, whatever they are.
func sized(p []byte, n int64) []byte {
	if n <= int64(cap(p)) {
		return p[:n]
	}
	return make([]byte, n)
}
