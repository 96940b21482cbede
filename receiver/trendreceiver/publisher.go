package trendreceiver

import (
	"context"
	"time"

	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/board"
	"github.com/otel-topk/collector/internal/wire"
)

const (
	// settle is how long the first publication waits for what arrives together with the first state.
	settle = 300 * time.Millisecond

	// maxRequestBytes is when a request to a logs pipeline goes: half of what an OTLP receiver takes.
	maxRequestBytes = 2 << 20
)

// publishUntil publishes every interval, and the first time as soon as there is something, until ctx ends.
func (t *trend) publishUntil(ctx context.Context) {
	ticker := time.NewTicker(t.cfg.PublishInterval)
	defer ticker.Stop()
	first := t.first
	var settled <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-first:
			first, settled = nil, time.After(settle)
		case <-settled:
			settled = nil
			if t.publish(ctx, time.Now()) == 0 {
				first = t.first
				continue
			}
			ticker.Reset(t.cfg.PublishInterval)
		case <-ticker.C:
			if t.publish(ctx, time.Now()) > 0 {
				first, settled = nil, nil
			}
		}
	}
}

// publish sends the lists that are due to both pipelines and returns how many there were. A list that a pipeline does not
// take is not kept: it comes again when it has changed, or after a minute.
func (t *trend) publish(ctx context.Context, now time.Time) int {
	t.mu.Lock()
	out := t.board.Publish(now.UnixNano())
	stats := t.board.Stats()
	t.mu.Unlock()
	t.telemetry.limits(stats)
	if t.lists != nil {
		sent, failures := publishLists(ctx, t.lists, out.Changed, out.Ended)
		t.telemetry.published(ctx, "logs", sent, failures)
	}
	if t.gauges != nil {
		sent, failures := t.gauges.publish(ctx, now, out.Changed, out.Ended)
		t.telemetry.published(ctx, "metrics", sent, failures)
	}
	t.telemetry.builder.ReceiverTrendPublishDuration.Record(ctx, time.Since(now).Seconds())
	return len(out.Changed)
}

// publishLists sends snapshots, each with its summary in the same request, and of ended lists the empty one that ends them.
// A list whose summary cannot travel goes without.
func publishLists(ctx context.Context, next consumer.Logs, changed []board.Published, ended []*wire.Snapshot) (sent int, failures []error) {
	for _, s := range ended {
		changed = append(changed, board.Published{Snapshot: s})
	}
	request, size, pending := plog.NewLogs(), 0, 0
	for i, p := range changed {
		size += wire.AppendSnapshot(request, p.Snapshot)
		if p.Summary != nil {
			n, err := wire.AppendWindowSummary(request, p.Summary)
			if err != nil {
				failures = append(failures, err)
			}
			size += n
		}
		if pending++; size < maxRequestBytes && i < len(changed)-1 {
			continue
		}
		if err := next.ConsumeLogs(ctx, request); err != nil {
			failures = append(failures, err)
		} else {
			sent += pending
		}
		request, size, pending = plog.NewLogs(), 0, 0
	}
	return sent, failures
}
