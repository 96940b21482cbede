package exact

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/table"
)

// keptTable is the table of an hour whose files the archive does not have any more, all or some: it cannot be made anew, so what
// comes later is added to it.
type keptTable struct {
	table  *table.Table // nil: the hour can be counted from its files
	gone   []archive.File
	object archive.Object
}

func (k *keptTable) close() error {
	if k.object == nil {
		return nil
	}
	return k.object.Close()
}

// kept finds the table of p where files that it was made from are gone, and which of files are to be counted. A file of the same path
// is the same one, also if it was written again.
func (x *Exact) kept(ctx context.Context, p place, files []archive.File) (*keptTable, []archive.File, error) {
	k := &keptTable{}
	o, t, err := x.openTable(ctx, p.table())
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, archive.ErrDamaged), errors.Is(err, archive.ErrForeign):
		return k, files, nil
	case err != nil:
		return k, nil, err
	}
	if t.Meta().Fingerprint == p.fingerprint && t.Meta().Rule == p.rule && t.Meta().From == p.from {
		k.gone = without(t.Meta().Files, files)
	}
	if len(k.gone) == 0 {
		return k, files, o.Close()
	}
	k.table, k.object = t, o
	return k, without(files, t.Meta().Files), nil
}

// without is those of files whose path none of others has.
func without(files, others []archive.File) []archive.File {
	of := make(map[string]bool, len(others))
	for _, f := range others {
		of[f.Path()] = true
	}
	return slices.DeleteFunc(slices.Clone(files), func(f archive.File) bool { return of[f.Path()] })
}
