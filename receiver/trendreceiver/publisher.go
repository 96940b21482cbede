package trendreceiver

import (
	"context"
	"time"

	"github.com/otel-topk/collector/internal/board"
)

// settle is how long the first publication waits for what arrives together with the first state.
const settle = 300 * time.Millisecond

// publishUntil publishes every interval, and the first time as soon as there is something, until stop is closed. ctx is that of
// what is being published then.
func (t *trend) publishUntil(ctx context.Context, stop <-chan struct{}) {
	ticker := time.NewTicker(t.cfg.PublishInterval)
	defer ticker.Stop()
	first := t.first
	var settled <-chan time.Time
	if t.restored {
		settled = time.After(0)
	}
	for {
		select {
		case <-stop:
			return
		case <-first:
			first, settled = nil, time.After(settle)
		case <-settled:
			settled = nil
			if t.publish(ctx) == 0 {
				first = t.first
				continue
			}
			first = nil
			ticker.Reset(t.cfg.PublishInterval)
		case <-ticker.C:
			if t.publish(ctx) > 0 {
				first, settled = nil, nil
			}
		}
	}
}

// publish sends the lists that are due to both pipelines and returns how many there were. What they are made from is stored
// before, so that no restart can take back what was published. A list that a pipeline does not take is not kept: it comes
// again when it has changed, or after a minute.
func (t *trend) publish(ctx context.Context) int {
	began := time.Now()
	var now time.Time
	var out board.Publication
	var stats board.Stats
	t.ascent.publishing(func() error {
		return t.change(ctx, func(b *board.Board) { // an error is told; lists do not wait for a storage that fails
			now = t.now()
			out = b.Publish(now.UnixNano())
			stats = b.Stats()
		})
	})
	t.telemetry.anew(out.Anew)
	t.telemetry.limits(stats)
	t.telemetry.damage(t.storage.damaged())
	if t.lists != nil {
		lists, failures := publishLists(ctx, t.lists, out.Changed, out.Ended)
		rollups, more := publishRollups(ctx, t.lists, out.Rollups)
		t.telemetry.published(ctx, "logs", lists, append(failures, more...))
		t.telemetry.builder.ReceiverTrendRollupsPublished.Add(ctx, int64(rollups))
	}
	if t.gauges != nil {
		lists, failures := t.gauges.publish(ctx, now, out.Changed, out.Ended)
		t.telemetry.published(ctx, "metrics", lists, failures)
	}
	t.telemetry.builder.ReceiverTrendPublishDuration.Record(ctx, time.Since(began).Seconds())
	return len(out.Changed)
}
