package topkexporter

import (
	"context"
	"errors"
	"sync/atomic"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/otel-topk/collector/exporter/topkexporter/internal/metadata"
)

// telemetry tells the operator how the exporter fares.
type telemetry struct {
	builder *metadata.TelemetryBuilder
	logger  *zap.Logger
	limited atomic.Bool // the log says that max_lists is reached
}

func newTelemetry(set component.TelemetrySettings, s *store, requests *requestCounts) (*telemetry, error) {
	builder, err := metadata.NewTelemetryBuilder(set)
	if err != nil {
		return nil, err
	}
	err = builder.RegisterExporterTopkListsCallback(func(_ context.Context, o metric.Int64Observer) error {
		o.Observe(int64(s.catalog().lists))
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = builder.RegisterExporterTopkHTTPRequestsCallback(func(_ context.Context, o metric.Int64Observer) error {
		for r := range requests.all() {
			o.Observe(int64(r.count), metric.WithAttributes(attribute.String("route", r.route), attribute.Int("code", r.code)))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &telemetry{builder: builder, logger: set.Logger}, nil
}

// observe asks for what is kept whenever metrics are read.
func (t *telemetry) observe(config *Config, s *store) error {
	gauge := func(register func(metric.Int64Callback) error, value func() int64) error {
		return register(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(value())
			return nil
		})
	}
	err := errors.Join(
		gauge(t.builder.RegisterExporterTopkHistoryBytesCallback, func() int64 { return s.history.size().bytes }),
		gauge(t.builder.RegisterExporterTopkHistoryRollupsCallback, func() int64 { return s.history.size().rollups }),
		gauge(t.builder.RegisterExporterTopkHistoryRemovedCallback, func() int64 { return s.history.size().removed }),
	)
	if config.Storage == nil {
		return err
	}
	return errors.Join(err,
		gauge(t.builder.RegisterExporterTopkStorageUpCallback, func() int64 { return int64(truth(s.storage.state() == storageUp)) }),
		gauge(t.builder.RegisterExporterTopkStoredDamagedCallback, func() int64 { return int64(s.storage.depot.Damaged()) }),
	)
}

// storageClosed tells that the storage is not used until the next start.
func (t *telemetry) storageClosed(err error) {
	t.logger.Error("The storage cannot be used: lists and history are lost with this process", zap.Error(err))
}

// damage tells of stored values that were set aside, n so far.
func (t *telemetry) damage(n uint64) {
	t.logger.Error("Stored values were damaged and are set aside: what they held is left out until it comes again", zap.Uint64("values", n))
}

// committed counts a write to the storage that failed.
func (t *telemetry) committed(ctx context.Context, err error) {
	if err != nil {
		t.builder.ExporterTopkStorageFailures.Add(ctx, 1)
	}
}

// storing tells that the storage began to fail, or that it works again.
func (t *telemetry) storing(err error) {
	if err != nil {
		t.logger.Error("The storage takes nothing: lists go on from memory", zap.Error(err))
	} else {
		t.logger.Info("The storage works again")
	}
}

func (t *telemetry) shutdown() { t.builder.Shutdown() }

// record counts what became of a batch, and says once that the limit is reached, and once that it no longer is.
func (t *telemetry) record(ctx context.Context, batch tally, refused int64) {
	for outcome, n := range map[string]int64{
		"taken": batch.taken, "stale": batch.stale, "unpaired": batch.unpaired, "over_limit": batch.overLimit, "ahead": batch.ahead,
		"refused": refused,
	} {
		if n > 0 {
			t.builder.ExporterTopkPublications.Add(ctx, n, metric.WithAttributes(attribute.String("outcome", outcome)))
		}
	}
	t.builder.ExporterTopkListsRemoved.Add(ctx, batch.removed)
	switch reached := batch.limited != ""; {
	case reached && !t.limited.Swap(true):
		t.logger.Warn("max_lists is reached: new lists take the place of idle ones, or are refused", zap.String("rule", batch.limited))
	case !reached && batch.taken > 0 && t.limited.Swap(false):
		t.logger.Info("max_lists is no longer exceeded")
	}
}
