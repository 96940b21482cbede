package parquetexporter

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/otel-topk/collector/exporter/parquetexporter/internal/metadata"
)

// telemetry tells the operator how the exporter fares.
type telemetry struct {
	builder *metadata.TelemetryBuilder
	logger  *zap.Logger
}

func newTelemetry(set component.TelemetrySettings) (*telemetry, error) {
	builder, err := metadata.NewTelemetryBuilder(set)
	if err != nil {
		return nil, err
	}
	return &telemetry{builder: builder, logger: set.Logger}, nil
}

// observe what waits, whenever metrics are read.
func (t *telemetry) observe(a *archiver) error {
	return errors.Join(
		t.builder.RegisterExporterParquetPendingSegmentsCallback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(int64(a.folder.Pending().Segments))
			return nil
		}),
		t.builder.RegisterExporterParquetPendingBytesCallback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(a.folder.Pending().Bytes)
			return nil
		}),
		t.builder.RegisterExporterParquetBehindCallback(func(_ context.Context, o metric.Float64Observer) error {
			behind := time.Duration(0)
			if oldest := a.folder.Pending().Oldest; !oldest.IsZero() {
				behind = max(time.Since(oldest), 0)
			}
			o.Observe(behind.Seconds())
			return nil
		}),
		t.builder.RegisterExporterParquetColumnRecordsCallback(func(_ context.Context, o metric.Int64Observer) error {
			for path, n := range a.columns.found() {
				o.Observe(n, metric.WithAttributes(attribute.String("path", path)))
			}
			return nil
		}),
	)
}

func (t *telemetry) shutdown() { t.builder.Shutdown() }

func (t *telemetry) refused(ctx context.Context, reason string) {
	t.builder.ExporterParquetRefusedRequests.Add(ctx, 1, metric.WithAttributes(attribute.String("reason", reason)))
}

// flattened values of a request.
func (t *telemetry) flattened(ctx context.Context, signal string, values int64) {
	if values > 0 {
		t.builder.ExporterParquetFlattenedValues.Add(ctx, values, metric.WithAttributes(attribute.String("signal", signal)))
	}
}

// wrote a file.
func (t *telemetry) wrote(ctx context.Context, signal string, size int64) {
	of := metric.WithAttributes(attribute.String("signal", signal))
	t.builder.ExporterParquetWrittenFiles.Add(ctx, 1, of)
	t.builder.ExporterParquetWrittenBytes.Add(ctx, size, of)
}

func (t *telemetry) converted(ctx context.Context, signal string, records int64, err error) {
	outcome := "done"
	if err != nil {
		outcome = "failed"
	} else {
		t.builder.ExporterParquetArchivedRecords.Add(ctx, records, metric.WithAttributes(attribute.String("signal", signal)))
	}
	t.builder.ExporterParquetConversions.Add(ctx, 1, metric.WithAttributes(attribute.String("outcome", outcome)))
}

func (t *telemetry) deleted(ctx context.Context, signal string, files int64) {
	if files > 0 {
		t.builder.ExporterParquetDeletedFiles.Add(ctx, files, metric.WithAttributes(attribute.String("signal", signal)))
	}
}

// damaged tells of bytes of a segment that are set aside.
func (t *telemetry) damaged(ctx context.Context, segment string, offset, length int64) {
	t.builder.ExporterParquetDamagedFrames.Add(ctx, 1)
	t.logger.Error("Part of a segment is damaged and set aside: the requests that were in it are not archived",
		zap.String("segment", segment), zap.Int64("offset", offset), zap.Int64("bytes", length))
}

// shared drops from telemetry what speaks of one signal: the archiver belongs to all that name the exporter.
func shared(set component.TelemetrySettings) component.TelemetrySettings {
	const dropped = "otelcol.signal"
	set.Logger = set.Logger.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		if injected, ok := core.(interface {
			DropInjectedAttributes(dropped ...string) zapcore.Core
		}); ok {
			return injected.DropInjectedAttributes(dropped)
		}
		return core
	}))
	if injected, ok := set.MeterProvider.(interface {
		DropInjectedAttributes(dropped ...string) metric.MeterProvider
	}); ok {
		set.MeterProvider = injected.DropInjectedAttributes(dropped)
	}
	return set
}
