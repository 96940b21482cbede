package topkexporter

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

const (
	mostMerges      = 4                // spans that are merged at once
	mergePatience   = time.Second      // how long others wait
	longestMerge    = 10 * time.Second // after which the storage is taken for stuck
	mergedResidents = 4096             // of a sum
	keptResidents   = 1024             // of it, for counts of keys
	readAtOnce      = 32               // roll-ups
)

// past is the list of a group over a span of the past; list is nil where nothing is kept of it.
type past struct {
	*plan
	list *list
}

// list merges what is kept of g over a span. A span that was asked for before is answered from memory until one of its hours
// changes.
func (h *history) list(ctx context.Context, name string, g rule.Group, s span, now time.Time) (*past, error) {
	key := spanKey{name, g, s}
	if known := h.cache.get(key); known != nil && h.holds(known.plan, now) {
		return known, nil
	}
	p := h.plan(name, g, s, now)
	if p.covered == 0 {
		return &past{plan: p}, nil
	}
	if len(p.reads) == 0 {
		sum, err := h.merge(ctx, p)
		return &past{p, p.list(sum)}, err
	}
	if err := h.enter(ctx); err != nil {
		return nil, err
	}
	defer func() { <-h.merges }()
	if known := h.cache.get(key); known != nil && h.holds(known.plan, now) { // since then
		return known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, longestMerge)
	defer cancel()
	sum, err := h.merge(ctx, p)
	if err != nil {
		return nil, err
	}
	p.reads = nil
	known := &past{p, p.list(sum)}
	if !slices.Contains(p.reasons, reasonStorage) && !slices.Contains(p.reasons, reasonDamaged) {
		h.cache.put(key, known)
	}
	return known, nil
}

// enter waits for a place among those who merge.
func (h *history) enter(ctx context.Context) error {
	patient := time.NewTimer(mergePatience)
	defer patient.Stop()
	select {
	case h.merges <- struct{}{}:
		return nil
	case <-patient.C:
	case <-ctx.Done():
	}
	return &problem{
		status: http.StatusTooManyRequests, retryAfter: mergePatience,
		text: "as many spans of the past are being merged as may be at once; ask again in a second",
	}
}

// merge what p reads.
func (h *history) merge(ctx context.Context, p *plan) (*topk.Summary, error) {
	sum, err := topk.New(max(mergedResidents, p.d.Residents), p.d.Shape)
	if err != nil {
		return nil, err // cannot be: it was decoded
	}
	var (
		bodies wire.Bodies
		buffer []byte
	)
	for reads := range slices.Chunk(p.reads, readAtOnce) {
		keys := make([]string, len(reads))
		for i := range reads {
			keys[i] = reads[i].key
		}
		values, err := h.storage.read(ctx, keys)
		if err != nil {
			p.reason(reasonStorage)
			return sum, nil
		}
		for i := range reads {
			var r *wire.Rollup
			if r, buffer = p.open(&reads[i], values[i], &bodies, buffer); r == nil {
				h.damaged(p, &reads[i], values[i])
				continue
			}
			if reads[i].bound {
				err = sum.MergeBound(r.Summary)
			} else {
				err = sum.Merge(r.Summary)
			}
			if errors.Is(err, topk.ErrTotal) {
				return nil, badRequest("the weights of this span add up to more than 2^63, which is not counted; ask for fewer hours")
			} else if err != nil {
				return nil, err // cannot be: shapes are of one fingerprint
			}
		}
	}
	return sum, nil
}

// open reads a roll-up, nil if it is not the one that is looked for.
func (p *plan) open(at *reading, value []byte, bodies *wire.Bodies, buffer []byte) (*wire.Rollup, []byte) {
	if value == nil {
		return nil, buffer
	}
	body, err := expand(value, buffer[:0])
	if err != nil {
		return nil, buffer
	}
	r, err := bodies.Rollup(body)
	if err != nil || r.Hour != at.start || r.Group != at.group || r.Rule.Shape != p.d.Shape || r.Rule.Name != p.rule {
		return nil, body
	}
	return r, body
}

// damaged takes a roll-up out that could not be read, unless it is just being removed.
func (h *history) damaged(p *plan, at *reading, value []byte) {
	if !h.lose(p.rule, p.era, at.start, at.group, at.asOf) {
		p.reason(reasonMissing)
		return
	}
	if p.reason(reasonDamaged); value != nil {
		h.storage.depot.SetAside(at.key, value)
	}
}

// list is the answer that sum gives.
func (p *plan) list(sum *topk.Summary) *list {
	sum.Tighten()
	if sum.TotalUpper() > sum.Total() {
		p.reason(reasonOverflow)
	}
	distinct, _ := sum.Distinct()
	l := &list{
		Snapshot: &wire.Snapshot{
			Rule: p.d, Window: p.span.length(), Group: p.group,
			WindowStart: p.span.start(), AsOf: time.Unix(0, p.covered.Start()).UTC(),
			Approximate: true, PartialReasons: p.reasons,
			Total: sum.Total(), TotalUpper: sum.TotalUpper(), Records: sum.Records(), Distinct: distinct, List: sum.Top(p.d.K),
		},
		summary: sum, keyed: p.d,
	}
	sum.Prune(max(keptResidents, p.d.K))
	return l
}
