package recounts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/recount"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/table"
)

var errChanged = errors.New("the rule was changed in recount.rules since the job was asked for")

// Count what order asks for in store, by rules. The progress of o is its own.
func Count(ctx context.Context, store *archive.Store, rules map[string]*rule.Rule, o recount.Options, order *Order,
	progress func(done float64, records int64),
) (*Result, error) {
	r := rules[order.Rule]
	if r == nil || r.Definition().Fingerprint() != order.Fingerprint {
		return nil, fmt.Errorf("%w: %q; ask again", errChanged, order.Rule)
	}
	o.Progress = func(p recount.Progress) { progress(part(p), p.RowsDone) }
	counts, err := recount.Count(ctx, store, recount.Question{
		Rule: r, From: order.From, To: order.To, Keys: order.Keys, Group: &order.Group,
	}, o)
	switch {
	case errors.Is(err, recount.ErrNoArchive):
		gone := ""
		if there, err := store.Exists(ctx); err == nil && !there {
			gone = "; there is no such folder or bucket"
		}
		return nil, fmt.Errorf("%w: %s from %s to %s%s",
			recount.ErrNoArchive, store.Name(), order.From.Format(time.RFC3339Nano), order.To.Format(time.RFC3339Nano), gone)
	case errors.Is(err, archive.ErrDamaged), errors.Is(err, archive.ErrForeign):
		return nil, fmt.Errorf("%w; recount.skip_damaged: true leaves such files out, and names them", err)
	case err != nil:
		return nil, err
	}
	result, err := newResult(order, counts)
	return result, errors.Join(err, counts.Close())
}

// causeOf a count that failed: what the log may hold, since an error may say what a record holds. A nil error is of a result that
// is too large.
func causeOf(err error) string {
	switch {
	case err == nil:
		return "result too large"
	case errors.Is(err, recount.ErrNoArchive):
		return "no file in the range"
	case errors.Is(err, archive.ErrDamaged):
		return "damaged file"
	case errors.Is(err, archive.ErrForeign):
		return "foreign file"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "canceled"
	case errors.Is(err, errChanged):
		return "rule changed"
	default:
		return "archive or disk"
	}
}

// part of the work that is done.
func part(p recount.Progress) float64 {
	switch {
	case p.Rows > 0:
		return float64(p.RowsDone) / float64(p.Rows)
	case p.Files > 0:
		return float64(p.FilesDone) / float64(p.Files)
	}
	return 0
}

// newResult takes out of counts what was asked for.
func newResult(o *Order, counts *recount.Counts) (*Result, error) {
	res := &Result{
		Files: len(counts.Files), Missing: counts.Missing, LeftOut: counts.LeftOut, NotRead: len(counts.LeftOut), Skipped: counts.Skipped,
	}
	for _, sum := range counts.Sums() { // of the one list, if a record came
		res.Weight, res.Records, res.Distinct = sum.Weight, sum.Records, sum.Distinct
	}
	if o.Keys == nil {
		top, err := counts.Top(o.Group, o.K)
		for i := range top {
			res.Items = append(res.Items, newItem(&top[i]))
		}
		return res, err
	}
	found := map[string]Item{}
	for row, err := range counts.Rows() {
		if err != nil {
			return nil, err
		}
		found[row.Key] = newItem(&row)
	}
	res.Distinct = 0 // of these keys, not of the list
	for _, key := range o.Keys {
		item := found[key] // zero: it never came
		item.Key = key
		res.Items = append(res.Items, item)
	}
	return res, nil
}

func newItem(r *table.Row) Item { return Item{Key: r.Key, Weight: r.Weight, Records: r.Records} }
