package topkexporter

import (
	"context"
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

func (t *telemetry) shutdown() { t.builder.Shutdown() }

// record counts what became of a batch, and says once that the limit is reached, and once that it no longer is.
func (t *telemetry) record(ctx context.Context, batch tally, refused int64) {
	for outcome, n := range map[string]int64{
		"taken": batch.taken, "stale": batch.stale, "unpaired": batch.unpaired, "over_limit": batch.overLimit, "refused": refused,
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
