package topkexporter

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter/exportertest"
	xstorage "go.opentelemetry.io/collector/extension/xextension/storage"

	"github.com/otel-topk/collector/internal/depot"
)

// disk is a storage extension whose faults a test chooses.
type disk struct {
	component.StartFunc
	component.ShutdownFunc
	mu      sync.Mutex
	values  map[string][]byte
	refuses error         // what writes and opening say; nil: they work
	stuck   chan struct{} // writes wait until it is closed; nil: they do not
	open    bool
}

var errFull = errors.New("no space left on device")

func (d *disk) GetClient(context.Context, component.Kind, component.ID, string) (xstorage.Client, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refuses != nil {
		return nil, d.refuses
	}
	if d.open {
		return nil, errors.New("timeout")
	}
	d.open = true
	if d.values == nil {
		d.values = map[string][]byte{}
	}
	return d, nil
}

func (d *disk) Get(ctx context.Context, key string) ([]byte, error) {
	op := xstorage.GetOperation(key)
	err := d.Batch(ctx, op)
	return op.Value, err
}

func (d *disk) Set(ctx context.Context, key string, value []byte) error {
	return d.Batch(ctx, xstorage.SetOperation(key, value))
}

func (d *disk) Delete(ctx context.Context, key string) error {
	return d.Batch(ctx, xstorage.DeleteOperation(key))
}

func (d *disk) Batch(_ context.Context, ops ...*xstorage.Operation) error {
	d.mu.Lock()
	stuck := d.stuck
	d.mu.Unlock()
	if stuck != nil {
		<-stuck
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refuses != nil {
		return d.refuses
	}
	return depot.Memory(d.values).Batch(context.Background(), ops...)
}

func (d *disk) Walk(ctx context.Context, visit xstorage.WalkFunc) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refuses != nil {
		return d.refuses
	}
	return depot.Memory(d.values).Walk(ctx, visit)
}

func (d *disk) Close(context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open = false
	return nil
}

// turn the disk bad, or good again by nil.
func (d *disk) turn(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refuses = err
}

// keys with a prefix.
func (d *disk) keys(prefix string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var found []string
	for _, key := range sortedKeys(d.values) {
		if strings.HasPrefix(key, prefix) {
			found = append(found, key)
		}
	}
	return found
}

// spoil what is stored under each key.
func (d *disk) spoil(keys ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, key := range keys {
		value := append([]byte{}, d.values[key]...)
		value[len(value)-1] ^= 1
		d.values[key] = value
	}
}

var diskID = component.MustNewID("disk")

// diskHost has the extension disk, and remembers what is reported.
type diskHost struct {
	component.Host
	disk component.Component

	mu     sync.Mutex
	events []componentstatus.Status
}

func (h *diskHost) GetExtensions() map[component.ID]component.Component {
	return map[component.ID]component.Component{diskID: h.disk}
}

func (h *diskHost) Report(e *componentstatus.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e.Status())
}

func (h *diskHost) reported() []componentstatus.Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.events
}

func hostOf(d component.Component) *diskHost {
	return &diskHost{Host: componenttest.NewNopHost(), disk: d}
}

// opened is an exporter that keeps its lists and history on d, without its server. The end of the test shuts it down.
func opened(t testing.TB, d *disk, edits ...func(*Config)) *topkExporter {
	e := openedAt(t, hostOf(d), edits...)
	t.Cleanup(func() { require.NoError(t, e.shutdown(context.WithoutCancel(t.Context()))) })
	return e
}

func openedAt(t testing.TB, host component.Host, edits ...func(*Config)) *topkExporter {
	config := createDefaultConfig().(*Config)
	config.Storage = &diskID
	for _, edit := range edits {
		edit(config)
	}
	require.NoError(t, config.Validate())
	set := exportertest.NewNopSettings(typ)
	set.ID = component.NewID(typ)
	e, err := newExporter(config, set)
	require.NoError(t, err)
	require.NoError(t, e.open(t.Context(), host))
	return e
}
