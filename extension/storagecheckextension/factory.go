package storagecheckextension

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension"

	"github.com/otel-topk/collector/extension/storagecheckextension/internal/metadata"
)

// NewFactory makes storage_check extensions.
func NewFactory() extension.Factory {
	return extension.NewFactory(metadata.Type, createDefaultConfig, create, metadata.ExtensionStability)
}

func create(_ context.Context, set extension.Settings, cfg component.Config) (extension.Extension, error) {
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	return &check{directory: cfg.(*Config).Directory, logger: set.Logger, telemetry: telemetry}, nil
}
