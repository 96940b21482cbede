package recount

import (
	"context"
	"iter"
	"slices"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/table"
)

// Counts are exact. Close removes what was spilled. Not safe for concurrent use.
type Counts struct {
	Files   []archive.File // that were read
	Skipped rule.Skipped
	LeftOut []string       // damaged or foreign files, with why
	Missing []archive.Hour // hours of the range without a file

	tally  *tally
	order  []uint32 // the lists by scope and group
	sorted []item   // where nothing was spilled, once Rows asked for it
	merged run      // where something was
	starts []int64  // in it, of the lists in their order, and its end
}

// finish ends the counting: what was spilled becomes one run.
func (t *tally) finish(ctx context.Context) (*Counts, error) {
	order, place := t.lists.order()
	c := &Counts{tally: t, order: order}
	if len(t.spill.runs) == 0 {
		for _, e := range t.arena.all {
			t.lists.found(t.row(e))
		}
		return c, nil
	}
	if err := t.flush(); err != nil {
		return nil, err
	}
	t.slots, t.items, t.arena.chunks, t.arena.ends = nil, nil, nil, nil

	s := t.spill
	for atOnce := max(2, int(t.budget/4/readBytes)); len(s.runs) > atOnce; {
		merged, err := s.mergeRuns(ctx, s.runs[:atOnce], place, nil)
		if err != nil {
			return nil, err
		}
		s.runs = append(slices.Clone(s.runs[atOnce:]), merged)
	}
	merged, err := s.mergeRuns(ctx, s.runs, place, func(r *row, at int64) {
		for len(c.starts) <= int(place[r.list]) {
			c.starts = append(c.starts, at)
		}
		t.lists.found(*r)
	})
	if err != nil {
		return nil, err
	}
	for len(c.starts) <= len(order) {
		c.starts = append(c.starts, merged.to)
	}
	c.merged = merged
	return c, nil
}

// Sums of the lists, sorted by scope and group. Where keys were asked for, Distinct is of those, the rest of all.
func (c *Counts) Sums() []table.Sum {
	sums := make([]table.Sum, len(c.order))
	for i, id := range c.order {
		sums[i] = c.tally.lists.all[id]
	}
	return sums
}

// Rows of all lists, sorted by scope, group and key. May be called again.
func (c *Counts) Rows() iter.Seq2[table.Row, error] {
	return func(yield func(table.Row, error) bool) {
		for r, err := range c.rows() {
			if err != nil {
				yield(table.Row{}, err)
				return
			}
			if !yield(c.made(r), nil) {
				return
			}
		}
	}
}

func (c *Counts) made(r *row) table.Row {
	return table.Row{Group: c.tally.lists.all[r.list].Group, Key: string(r.key), Weight: r.weight, Records: r.records}
}

func (c *Counts) rows() iter.Seq2[*row, error] {
	if c.starts != nil {
		return c.tally.spill.rows(c.merged)
	}
	return func(yield func(*row, error) bool) {
		if c.sorted == nil {
			c.sorted = c.tally.sorted()
		}
		for _, i := range c.sorted {
			r := c.tally.row(c.tally.arena.at(i.ref))
			if !yield(&r, nil) {
				return
			}
		}
	}
}

// ofList are the rows of one list, in any order.
func (c *Counts) ofList(id uint32) iter.Seq2[*row, error] {
	if c.starts != nil {
		place := slices.Index(c.order, id)
		return c.tally.spill.rows(run{c.starts[place], c.starts[place+1]})
	}
	return func(yield func(*row, error) bool) {
		for _, e := range c.tally.arena.all {
			if r := c.tally.row(e); r.list == id && !yield(&r, nil) {
				return
			}
		}
	}
}

// Top is the first k of a list: by weight, largest first, then by key. Keys of weight 0 are none.
func (c *Counts) Top(g rule.Group, k int) ([]table.Row, error) {
	id, ok := c.tally.lists.ids[g]
	if !ok || k < 1 {
		return nil, nil
	}
	best := table.Heaviest{Most: k}
	for r, err := range c.ofList(id) {
		if err != nil {
			return nil, err
		}
		if best.Takes(r.weight, r.key) {
			best.Add(c.made(r))
		}
	}
	return best.Rows(), nil
}

// Close removes what was spilled.
func (c *Counts) Close() error { return c.tally.spill.close() }
