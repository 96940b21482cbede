package archive

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/seal"
)

// recovered turns a panic of the Parquet library, which meets data that fits its checksums and still makes no sense, into ErrDamaged.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v", ErrDamaged, p)
	}
}

// damaged is what an error of reading means.
func damaged(err error) error {
	switch {
	case errors.Is(err, seal.ErrUnsealed):
		return fmt.Errorf("%w: %w", ErrForeign, err)
	case errors.Is(err, seal.ErrChanged):
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	default:
		return err
	}
}

// open makes a Reader of a sealed file.
func open(sealed *seal.File) (r *Reader, err error) {
	defer recovered(&err)
	file, err := parquet.OpenFile(sealed, sealed.Size(), parquet.SkipMagicBytes(true), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	version, _ := file.Lookup(versionKey)
	text, _ := file.Lookup(metaKey)
	meta, rows, err := parseMeta(version, text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrForeign, err)
	}
	if meta.Signal != rule.SignalLogs && meta.Signal != rule.SignalTraces {
		return nil, fmt.Errorf("%w: records of signal %q", ErrForeign, meta.Signal)
	}
	l := layoutOf(meta.Signal, meta.Columns)
	if l.schema.String() != file.Schema().String() {
		return nil, fmt.Errorf("%w: its columns are not those of version %d", ErrDamaged, Version)
	}
	r = &Reader{sealed: sealed, file: file, meta: meta, rows: rows, layout: l, leaves: newLeaves(l, meta.Columns)}
	for _, g := range file.RowGroups() {
		rows -= g.NumRows()
	}
	if rows != 0 || file.NumRows() != r.rows {
		return nil, fmt.Errorf("%w: %d records are not those of its row groups", ErrDamaged, r.rows)
	}
	return r, nil
}

// held is parts of a file in memory.
type held struct{ ranges []heldRange }

type heldRange struct {
	from int64
	data []byte
}

// ReadAt reads what is held.
func (h *held) ReadAt(p []byte, offset int64) (int, error) {
	for _, r := range h.ranges {
		if offset < r.from || offset >= r.from+int64(len(r.data)) {
			continue
		}
		n := copy(p, r.data[offset-r.from:])
		if n < len(p) {
			return n, io.EOF
		}
		return n, nil
	}
	return 0, io.EOF
}
