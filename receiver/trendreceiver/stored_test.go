package trendreceiver

import (
	"context"
	"testing"

	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/extension"
)

var storageID = component.MustNewID("file_storage")

// storedHost is a host with a file storage, or another component in its place.
type storedHost struct {
	extension component.Component
	events    []*componentstatus.Event
}

func (h *storedHost) GetExtensions() map[component.ID]component.Component {
	return map[component.ID]component.Component{storageID: h.extension}
}

func (h *storedHost) Report(e *componentstatus.Event) { h.events = append(h.events, e) }

// fileStorage is the real extension on a directory.
func fileStorage(t testing.TB, dir string) component.Component {
	factory := filestorage.NewFactory()
	cfg := factory.CreateDefaultConfig().(*filestorage.Config)
	cfg.Directory = dir
	ext, err := factory.Create(context.Background(), extension.Settings{
		ID: storageID, TelemetrySettings: componenttest.NewNopTelemetrySettings(),
	}, cfg)
	require.NoError(t, err)
	require.NoError(t, ext.Start(context.Background(), nil))
	return ext
}
