package trendreceiver

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/extension"
	xstorage "go.opentelemetry.io/collector/extension/xextension/storage"

	"github.com/otel-topk/collector/receiver/trendreceiver/internal/metadata"
)

var storageID = component.MustNewID("file_storage")

// storedHost is a host with a storage, or another component in its place. It keeps what it is told of its component.
type storedHost struct {
	extension component.Component
	mu        sync.Mutex
	statuses  []componentstatus.Status
}

func (h *storedHost) GetExtensions() map[component.ID]component.Component {
	return map[component.ID]component.Component{storageID: h.extension}
}

func (h *storedHost) Report(e *componentstatus.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.statuses = append(h.statuses, e.Status())
}

func (h *storedHost) told() []componentstatus.Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.statuses
}

// disk is the real file storage on a directory, which fails when it is told to.
type disk struct {
	xstorage.Extension
	mu      sync.Mutex
	opening error // of GetClient
	writing error // of every write
	reading error // of every read of a value
	clients []*diskClient
	writes  atomic.Pointer[[]string] // keys of the last transaction
	hold    chan struct{}            // that writes wait for; nil: for nothing
}

func newDisk(t testing.TB) *disk {
	factory := filestorage.NewFactory()
	cfg := factory.CreateDefaultConfig().(*filestorage.Config)
	cfg.Directory = t.TempDir()
	ext, err := factory.Create(context.Background(), extension.Settings{
		ID: storageID, TelemetrySettings: componenttest.NewNopTelemetrySettings(),
	}, cfg)
	require.NoError(t, err)
	require.NoError(t, ext.Start(context.Background(), nil))
	return &disk{Extension: ext.(xstorage.Extension)}
}

func (d *disk) GetClient(ctx context.Context, kind component.Kind, id component.ID, name string) (xstorage.Client, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.opening != nil {
		return nil, d.opening
	}
	client, err := d.Extension.GetClient(ctx, kind, id, name)
	if err != nil {
		return nil, err
	}
	c := &diskClient{client, client.(xstorage.Walker), d}
	d.clients = append(d.clients, c)
	return c, nil
}

// fail makes every write fail with err from now on; nil: none.
func (d *disk) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writing = err
}

func (d *disk) failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.writing
}

// kill ends all writing at once, as the end of the process would, and leaves the file to who opens it next.
func (d *disk) kill(t testing.TB) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.clients {
		require.NoError(t, c.Close(context.Background()))
	}
	d.clients = nil
}

// diskClient is a client of a disk.
type diskClient struct {
	xstorage.Client
	xstorage.Walker
	disk *disk
}

func (c *diskClient) Batch(ctx context.Context, ops ...*xstorage.Operation) error {
	var writes []string
	if len(ops) > 0 && ops[0].Type == xstorage.Get && c.disk.reading != nil {
		return c.disk.reading
	}
	for _, op := range ops {
		if op.Type != xstorage.Get {
			writes = append(writes, op.Key)
		}
	}
	if writes != nil {
		if c.disk.hold != nil {
			<-c.disk.hold
		}
		if err := c.disk.failure(); err != nil {
			return err
		}
		c.disk.writes.Store(&writes)
	}
	return c.Client.Batch(ctx, ops...)
}

// storedGateway is a gateway with a storage on a disk. It publishes every 100 ms.
func storedGateway(t testing.TB, d component.Component, change func(*Config)) *gateway {
	g := newGateway(t, func(c *Config) {
		c.Storage, c.PublishInterval = &storageID, 100*time.Millisecond
		c.Windows = []time.Duration{5 * time.Minute}
		if change != nil {
			change(c)
		}
	})
	g.observed.ID = component.NewID(metadata.Type) // what it stores goes by it
	g.host = &storedHost{extension: d}
	return g
}
