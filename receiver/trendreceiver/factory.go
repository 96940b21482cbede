package trendreceiver

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"

	"github.com/otel-topk/collector/receiver/trendreceiver/internal/metadata"
)

// NewFactory makes trend receivers for logs and metrics pipelines. One configuration is one receiver, whichever pipelines
// name it.
func NewFactory() receiver.Factory {
	var instances instances
	return receiver.NewFactory(
		metadata.Type,
		createDefaultConfig,
		receiver.WithLogs(func(_ context.Context, set receiver.Settings, cfg component.Config, next consumer.Logs) (receiver.Logs, error) {
			return instances.join(cfg.(*Config), set, func(t *trend) { t.lists = next })
		}, metadata.LogsStability),
		receiver.WithMetrics(func(_ context.Context, set receiver.Settings, cfg component.Config, next consumer.Metrics) (receiver.Metrics, error) {
			return instances.join(cfg.(*Config), set, func(t *trend) { t.gauges = newGauges(next, cfg.(*Config).GroupMetrics) })
		}, metadata.MetricsStability),
	)
}
