package parquetexporter

import (
	"context"
	"fmt"
	"io"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
)

// file of an hour, while it is written.
type file struct {
	*conversion
	hour    archive.Hour
	feed    chan *parcel // closed: that was all, and the file is complete
	rows    int64
	present []int64 // of each column: records that have the attribute
}

// write what is fed, until it ends or ctx does: the file is complete, or not there.
func (f *file) write(ctx context.Context) error {
	path := archive.File{Signal: f.segment.Signal, Hour: f.hour, Name: archive.FileName(f.shard, f.segment.ID)}.Path()
	timeout := f.archiver.config.Timeout
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("timeout: it took longer than %v", timeout))
	defer cancel()
	size, err := f.archiver.bucket.Put(ctx, path, func(w io.Writer) error { return f.writeTo(ctx, w) })
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	f.archiver.telemetry.wrote(ctx, f.segment.Signal, size)
	return nil
}

func (f *file) writeTo(ctx context.Context, w io.Writer) error {
	writer, err := f.archiver.create(w, archive.Meta{
		Signal: f.segment.Signal, Hour: f.hour, Shard: f.shard, Segment: f.segment.ID, Columns: f.archiver.columns.all,
	})
	if err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case p, ok := <-f.feed:
			if !ok {
				f.rows, f.present = writer.Rows(), writer.Present()
				return writer.Close()
			}
			if err := f.add(writer, p); err != nil {
				return err
			}
		}
	}
}

// add the records of p that lie in the hour.
func (f *file) add(writer writer, p *parcel) error {
	if f.segment.Signal == rule.SignalLogs {
		return f.addLogs(writer, p.logs, p.arrival)
	}
	return f.addSpans(writer, p.traces, p.arrival)
}

func (f *file) addLogs(writer writer, ld plog.Logs, arrival int64) error {
	for _, rl := range ld.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			for _, record := range sl.LogRecords().All() {
				if archive.HourOf(rule.LogTime(record, arrival)) != f.hour {
					continue
				}
				if err := writer.Log(rl, sl, record, arrival); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (f *file) addSpans(writer writer, td ptrace.Traces, arrival int64) error {
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				if archive.HourOf(rule.SpanTime(span, false, arrival)) != f.hour {
					continue
				}
				if err := writer.Span(rs, ss, span, arrival); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
