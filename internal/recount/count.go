package recount

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
)

// Count answers q from the files in store. The error names the file at fault.
func Count(ctx context.Context, store storage, q Question, o Options) (*Counts, error) {
	if o.Memory < MinMemory {
		return nil, fmt.Errorf("memory_limit: %d bytes are less than %d", o.Memory, MinMemory)
	}
	return count(ctx, store, q, o)
}

func count(ctx context.Context, store storage, q Question, o Options) (*Counts, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	sources, err := findSources(ctx, store, &q)
	if err != nil {
		return nil, err
	}
	bad := map[string]string{} // why, by path
	for _, path := range sources.foreign {
		why := fmt.Errorf("%s: %w", path, archive.ErrForeign)
		if !o.SkipDamaged {
			return nil, why
		}
		bad[path] = why.Error()
	}
	for {
		c := &counting{store: store, q: &q, o: &o, left: bad}
		counts, at, err := c.run(ctx, sources.files)
		if err == nil {
			counts.LeftOut, counts.Missing = leftOut(bad), sources.missing
			return counts, nil
		}
		if !o.SkipDamaged || !broken(err) {
			return nil, err
		}
		bad[at.Path()] = err.Error() // some of it may be counted: from the start, without it
	}
}

// counting is one attempt at an answer.
type counting struct {
	store    storage
	q        *Question
	o        *Options
	left     map[string]string // paths of files that are left out
	tally    *tally
	batch    rule.Batch
	skipped  rule.Skipped
	files    []archive.File
	progress progress
}

// run counts the files. at is the one at fault, where one is.
func (c *counting) run(ctx context.Context, files []archive.File) (counts *Counts, at archive.File, err error) {
	spill := newSpill(c.o.Directory)
	defer func() {
		if err != nil {
			err = errors.Join(err, spill.close())
		}
	}()
	cfg := c.q.Rule.Config()
	weighted := cfg.Weight != rule.WeightOne || math.Round(cfg.WeightScale) != 1
	budget := c.o.Memory / 8 * 7 // the rest is for what reads
	lists := newLists(c.q.Group, budget/4)
	c.tally = newTally(budget, lists, weighted, c.q.Rule.Definition().Grouped() && c.q.Group == nil, spill)
	if c.q.Keys != nil {
		if err := c.tally.ask(c.q.Keys); err != nil {
			return nil, at, err
		}
	}
	c.progress = newProgress(c.o.Progress, files)
	for _, f := range files {
		c.progress.next(f)
		if _, ok := c.left[f.Path()]; !ok {
			if err := c.file(ctx, f); err != nil {
				return nil, f, err
			}
		}
		c.progress.done(c.tally.spill.end)
	}
	if len(c.files) == 0 && len(c.left) == 0 {
		return nil, at, ErrNoArchive
	}
	counts, err = c.tally.finish(ctx)
	if err != nil {
		return nil, at, err
	}
	counts.Files, counts.Skipped = c.files, c.skipped
	return counts, at, nil
}

// file counts one file.
func (c *counting) file(ctx context.Context, f archive.File) error {
	object, reader, err := open(ctx, c.store, f)
	if err != nil {
		return err
	}
	defer object.Close()
	w := newWindow(c.q, f)
	if w.misses(reader.Meta()) {
		return nil
	}
	c.files = append(c.files, f)
	c.progress.open(f, reader.Rows())
	needs := c.q.Rule.Needs(f.Signal)
	for b, err := range reader.Batches(ctx, needs) {
		if err != nil {
			return fmt.Errorf("%s: %w", f.Path(), err)
		}
		c.batch.Reset()
		rows := w.walk(c.q.Rule, b, &c.batch)
		if c.batch.Err != nil {
			return fmt.Errorf("%s: %w", f.Path(), c.batch.Err)
		}
		if !w.holds(c.batch.Times) {
			return fmt.Errorf("%s: %w: it holds a record of another hour", f.Path(), archive.ErrDamaged)
		}
		if err := c.tally.add(&c.batch); err != nil {
			return err
		}
		c.skipped.Add(c.batch.Skipped)
		c.progress.rows(rows, c.tally.spill.end)
	}
	return nil
}
