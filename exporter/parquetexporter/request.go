package parquetexporter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otel-topk/collector/exporter/parquetexporter/internal/segment"
	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
)

// request on its way into a segment; its memory is used again.
type request struct {
	segment.Request
	frame segment.Frame
}

// keptFrame is the largest frame whose memory is used again, in bytes.
const keptFrame = 4 << 20

func (a *archiver) request(now int64) *request {
	r, ok := a.requests.Get().(*request)
	if !ok {
		r = new(request)
	}
	r.Arrival, r.Hours = now, r.Hours[:0]
	return r
}

func (a *archiver) consumeLogs(ctx context.Context, ld plog.Logs) error {
	if ld.LogRecordCount() == 0 {
		return nil
	}
	now := time.Now()
	r := a.request(now.UnixNano())
	for record := range logRecords(ld) {
		r.count(rule.LogTime(record, r.Arrival))
	}
	ld, flattened := flatLogs(ld)
	a.telemetry.flattened(ctx, rule.SignalLogs, flattened)
	var err error
	r.Body, err = (&plog.ProtoMarshaler{}).MarshalLogs(ld)
	return a.take(ctx, rule.SignalLogs, now, r, err)
}

func (a *archiver) consumeTraces(ctx context.Context, td ptrace.Traces) error {
	if td.SpanCount() == 0 {
		return nil
	}
	now := time.Now()
	r := a.request(now.UnixNano())
	for span := range spans(td) {
		r.count(rule.SpanTime(span, false, r.Arrival))
	}
	td, flattened := flatTraces(td)
	a.telemetry.flattened(ctx, rule.SignalTraces, flattened)
	var err error
	r.Body, err = (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
	return a.take(ctx, rule.SignalTraces, now, r, err)
}

// count a record. Neighbours are mostly of one hour.
func (r *request) count(t int64) {
	h := archive.HourOf(t)
	if n := len(r.Hours); n > 0 && r.Hours[n-1].Hour == h {
		r.Hours[n-1].Count++
		return
	}
	r.Hours = append(r.Hours, segment.Records{Hour: h, Count: 1})
}

// inOrder has each hour once.
func (r *request) inOrder() {
	if len(r.Hours) == 1 {
		return
	}
	slices.SortFunc(r.Hours, func(a, b segment.Records) int { return cmp.Compare(a.Hour, b.Hour) })
	kept := r.Hours[:1]
	for _, h := range r.Hours[1:] {
		if last := &kept[len(kept)-1]; last.Hour == h.Hour {
			last.Count += h.Count
		} else {
			kept = append(kept, h)
		}
	}
	r.Hours = kept
}

// take r into a segment. encoding is what encoding it came to.
func (a *archiver) take(ctx context.Context, signal string, now time.Time, r *request, encoding error) error {
	if encoding != nil {
		return consumererror.NewPermanent(fmt.Errorf("request of %s: %w", signal, encoding))
	}
	if len(r.Body) > segment.MaxRequest {
		a.telemetry.refused(ctx, "too_large")
		return consumererror.NewPermanent(fmt.Errorf("request of %s: %d bytes as OTLP protobuf, allowed are %d", signal, len(r.Body), segment.MaxRequest))
	}
	r.inOrder()
	a.codec.Encode(&r.Request, &r.frame)
	err := a.folder.Append(signal, now, &r.frame)
	r.Body = nil
	if r.frame.Size() <= keptFrame {
		a.requests.Put(r)
	}
	switch {
	case err == nil:
		a.health.taken()
		return nil
	case errors.Is(err, segment.ErrClosed):
		a.telemetry.refused(ctx, "stopped")
	case errors.Is(err, segment.ErrFull):
		a.telemetry.refused(ctx, "max_pending")
		a.health.refused(now, err)
	default:
		a.telemetry.refused(ctx, "disk")
		a.health.refused(now, err)
	}
	return fmt.Errorf("request of %s: %w", signal, err)
}
