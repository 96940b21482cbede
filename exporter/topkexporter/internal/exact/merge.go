package exact

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"slices"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/table"
)

// mostMerged is how many tables are read at once, each with some 300 KB of buffers. More are merged in steps.
const mostMerged = 32

// sources are open tables that are merged.
type sources struct {
	closers []func() error
	rows    []iter.Seq2[table.Row, error]
	metas   []*table.Meta
}

func (s *sources) close() (err error) {
	for _, c := range s.closers {
		err = errors.Join(err, c())
	}
	return err
}

// merge tables into that of p.
func (x *Exact) merge(ctx context.Context, p place, m *table.Meta, from []place) (err error) {
	s, err := x.sources(ctx, from, nil)
	defer func() { err = errors.Join(err, s.close()) }()
	if err != nil {
		return err
	}
	for _, part := range s.metas {
		m.LeftOut = append(m.LeftOut[:len(m.LeftOut):len(m.LeftOut)], part.LeftOut...)
		m.Skipped.Add(part.Skipped)
	}
	return x.put(ctx, p, m, table.Merge(s.rows...))
}

// sources opens tables, for one list or for all. What comes of more than mostMerged is merged in steps, in temporary files.
func (x *Exact) sources(ctx context.Context, from []place, list *rule.Group) (*sources, error) {
	s := &sources{}
	if len(from) > mostMerged {
		for step := range slices.Chunk(from, (len(from)+mostMerged-1)/mostMerged) {
			if err := x.step(ctx, s, step, list); err != nil {
				return s, err
			}
		}
		return s, nil
	}
	var failed error
	for _, p := range from {
		o, t, err := x.openPart(ctx, p, p.table())
		if err != nil {
			failed = errors.Join(failed, err) // the others may be wrong too
			continue
		}
		s.add(ctx, o, t, list)
		s.metas = append(s.metas, t.Meta())
	}
	return s, failed
}

func (s *sources) add(ctx context.Context, o archive.Object, t *table.Table, list *rule.Group) {
	s.closers = append(s.closers, o.Close)
	if list == nil {
		s.rows = append(s.rows, t.All(ctx))
	} else {
		s.rows = append(s.rows, t.Rows(ctx, *list))
	}
}

// step merges tables into a temporary file, which is one of s.
func (x *Exact) step(ctx context.Context, s *sources, from []place, list *rule.Group) (err error) {
	parts, err := x.sources(ctx, from, list)
	defer func() { err = errors.Join(err, parts.close()) }()
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(x.Directory, "topk-merge-*.parquet")
	if err != nil {
		return err
	}
	s.closers = append(s.closers, f.Close)
	if err := os.Remove(f.Name()); err != nil { // it is there until it is closed, whatever happens
		return err
	}
	if err := table.Write(f, table.Meta{}, table.Merge(parts.rows...)); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	t, err := table.Open(temporary{f, info.Size()})
	if err != nil {
		return err
	}
	s.rows = append(s.rows, t.All(ctx))
	s.metas = append(s.metas, parts.metas...)
	return nil
}

// temporary is a file that is an object.
type temporary struct {
	*os.File
	size int64
}

func (t temporary) Size() int64 { return t.size }

// openPart opens what lies under path of a table that should be right. One that is not is made anew.
func (x *Exact) openPart(ctx context.Context, p place, path string) (archive.Object, *table.Table, error) {
	o, t, err := x.openTable(ctx, path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, archive.ErrDamaged) || errors.Is(err, archive.ErrForeign) {
		x.distrust(ctx, p)
	}
	return o, t, err
}

// distrust a table: it is made anew.
func (x *Exact) distrust(ctx context.Context, p place) {
	_ = x.Store.Delete(ctx, p.list()) // where it stays, its table is taken for right again, and found wrong again
	x.mu.Lock()
	defer x.mu.Unlock()
	x.distrusted = append(x.distrusted, p)
}

// forget what was found wrong.
func (x *Exact) forget() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, p := range x.distrusted {
		l := x.ledgers[p.rule]
		s := &l.all
		switch p.kind {
		case hours:
			s = l.hours[p.from]
		case days:
			s = l.days[p.from]
		}
		if s != nil {
			s.judged, s.version = "", ""
		}
	}
	x.distrusted = nil
}
