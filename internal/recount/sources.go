package recount

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/otel-topk/collector/internal/archive"
)

// storage is what is asked of an archive.Store.
type storage interface {
	Files(ctx context.Context, signal string, from, to archive.Hour) ([]archive.File, []string, error)
	Open(ctx context.Context, path string) (archive.Object, error)
}

// Hours around the range whose files may hold what counts in it, where a rule counts early: spans of up to 24 h, and events of up to
// 24 h after the end of their span.
const (
	hoursAfter  = 24
	hoursBefore = 24
)

// sources are the files of a question.
type sources struct {
	files   []archive.File
	foreign []string
	missing []archive.Hour
}

// findSources lists the files, those around the range too.
func findSources(ctx context.Context, store storage, q *Question) (*sources, error) {
	_, _, first, end := q.span()
	s := new(sources)
	covered := map[archive.Hour]bool{}
	for _, signal := range q.Rule.Definition().Signals {
		from, to := first, end
		if q.Rule.Early(signal) {
			from, to = from-hoursBefore, to+hoursAfter
		}
		files, foreign, err := store.Files(ctx, signal, from, to)
		if err != nil {
			return nil, fmt.Errorf("cannot list the archive: %w", err)
		}
		for _, f := range files {
			if f.Hour >= first && f.Hour < end {
				covered[f.Hour] = true
			}
		}
		s.files = append(s.files, files...)
		s.foreign = append(s.foreign, foreign...)
	}
	for h := first; h < end; h++ {
		if !covered[h] {
			s.missing = append(s.missing, h)
		}
	}
	return s, nil
}

// open a file that was listed.
func open(ctx context.Context, store storage, f archive.File) (archive.Object, *archive.Reader, error) {
	object, err := store.Open(ctx, f.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%s was deleted while it was to be counted (keep): %w", f.Path(), err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f.Path(), err)
	}
	reader, err := archive.NewReader(object)
	if err == nil {
		m := reader.Meta()
		if own := (archive.File{Signal: m.Signal, Hour: m.Hour, Name: archive.FileName(m.Shard, m.Segment)}); own.Path() != f.Path() {
			err = fmt.Errorf("%w: it says that it is %s", archive.ErrForeign, own.Path())
		}
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", f.Path(), err), object.Close())
	}
	return object, reader, nil
}

// broken says whether the file is at fault, not the way to it.
func broken(err error) bool {
	return errors.Is(err, archive.ErrDamaged) || errors.Is(err, archive.ErrForeign)
}

// leftOut is what Counts says of files that were left out.
func leftOut(why map[string]string) (texts []string) {
	for _, path := range slices.Sorted(maps.Keys(why)) {
		texts = append(texts, why[path])
	}
	return texts
}
