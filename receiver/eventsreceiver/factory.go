package eventsreceiver

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"

	"github.com/otel-topk/collector/receiver/eventsreceiver/internal/metadata"
)

// NewFactory makes events receivers for logs pipelines.
func NewFactory() receiver.Factory {
	return receiver.NewFactory(
		metadata.Type,
		createDefaultConfig,
		receiver.WithLogs(func(_ context.Context, set receiver.Settings, cfg component.Config, next consumer.Logs) (receiver.Logs, error) {
			return newEvents(cfg.(*Config), set, next)
		}, metadata.LogsStability),
	)
}
