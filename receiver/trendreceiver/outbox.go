package trendreceiver

import (
	"context"

	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/board"
	"github.com/otel-topk/collector/internal/wire"
)

// maxRequestBytes is when a request to a logs pipeline goes: half of what an OTLP receiver takes.
const maxRequestBytes = 2 << 20

// outbox sends to a logs pipeline in requests of a bounded size.
type outbox struct {
	next     consumer.Logs
	request  plog.Logs
	size     int // bytes in request
	pending  int // what is counted, in request
	sent     int // what is counted, taken by next
	failures []error
}

func newOutbox(next consumer.Logs) *outbox { return &outbox{next: next, request: plog.NewLogs()} }

// added says that one more is in the request, which took so many bytes.
func (o *outbox) added(ctx context.Context, bytes int) {
	o.pending++
	if o.size += bytes; o.size >= maxRequestBytes {
		o.send(ctx)
	}
}

func (o *outbox) send(ctx context.Context) {
	if o.pending == 0 {
		return
	}
	if err := o.next.ConsumeLogs(ctx, o.request); err != nil {
		o.failures = append(o.failures, err)
	} else {
		o.sent += o.pending
	}
	o.request, o.size, o.pending = plog.NewLogs(), 0, 0
}

// publishLists sends snapshots, each with its summary in the same request, and of ended lists the empty one that ends them.
// A list whose summary cannot travel goes without.
func publishLists(ctx context.Context, next consumer.Logs, changed []board.Published, ended []*wire.Snapshot) (sent int, failures []error) {
	o := newOutbox(next)
	for _, p := range changed {
		size := wire.AppendSnapshot(o.request, p.Snapshot)
		if p.Summary != nil {
			n, err := wire.AppendWindowSummary(o.request, p.Summary)
			if err != nil {
				o.failures = append(o.failures, err)
			}
			size += n
		}
		o.added(ctx, size)
	}
	for _, s := range ended {
		o.added(ctx, wire.AppendSnapshot(o.request, s))
	}
	o.send(ctx)
	return o.sent, o.failures
}

// publishRollups sends the hours of groups. One that cannot travel is left out.
func publishRollups(ctx context.Context, next consumer.Logs, rollups []*wire.Rollup) (sent int, failures []error) {
	o := newOutbox(next)
	for _, r := range rollups {
		n, err := wire.AppendRollup(o.request, r)
		if err != nil {
			o.failures = append(o.failures, err)
			continue
		}
		o.added(ctx, n)
	}
	o.send(ctx)
	return o.sent, o.failures
}
