package topkprocessor

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/otel-topk/collector/processor/topkprocessor/internal/metadata"
)

const stored = tenants + "storage: file_storage\n"

var errKilled = errors.New("killed")

// machine is a host with a file_storage, on which one process can be killed: nothing of it is written or sent any more.
type machine struct {
	component.Host
	extensions map[component.ID]component.Component

	dead       atomic.Bool
	onWrite    func(ops []*storage.Operation) error // before each write; nil: nothing
	afterWrite func()                               // nil: nothing

	mu     sync.Mutex
	client storage.Client
	events []componentstatus.Status
}

func newMachine(t testing.TB, folder string) *machine {
	t.Helper()
	factory := filestorage.NewFactory()
	cfg := factory.CreateDefaultConfig().(*filestorage.Config)
	cfg.Directory = folder
	files, err := factory.Create(t.Context(), extensiontest.NewNopSettings(factory.Type()), cfg)
	require.NoError(t, err)
	m := &machine{Host: componenttest.NewNopHost()}
	m.extensions = map[component.ID]component.Component{component.MustNewID("file_storage"): &fileStorage{Extension: files, machine: m}}
	return m
}

func (m *machine) GetExtensions() map[component.ID]component.Component { return m.extensions }

func (m *machine) Report(e *componentstatus.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events = append(m.events, e.Status())
}

func (m *machine) statuses() []componentstatus.Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]componentstatus.Status(nil), m.events...)
}

// kill what runs on the machine: its file is as it is now, and free. The goroutines of p end.
func (m *machine) kill(t testing.TB, p component.Component) {
	t.Helper()
	m.dead.Store(true)
	require.NoError(t, m.client.Close(context.Background()))
	_ = p.Shutdown(t.Context())
}

// start a logs processor on the machine.
func (m *machine) start(t testing.TB, yaml string, gws ...*setGateway) *logs {
	t.Helper()
	return m.startWith(t, processortest.NewNopSettings(metadata.Type), yaml, gws...)
}

func (m *machine) startWith(t testing.TB, set processor.Settings, yaml string, gws ...*setGateway) *logs {
	t.Helper()
	p, err := newFactory(connectFrom(m, gws...)).CreateLogs(t.Context(), set, mustParse(t, yaml), consumertest.NewNop())
	require.NoError(t, err)
	require.NoError(t, p.Start(t.Context(), m))
	return p.(*logs)
}

// fileStorage hands out clients of the machine.
type fileStorage struct {
	extension.Extension
	machine *machine
}

func (f *fileStorage) GetClient(ctx context.Context, kind component.Kind, id component.ID, name string) (storage.Client, error) {
	client, err := f.Extension.(storage.Extension).GetClient(ctx, kind, id, name)
	if err != nil {
		return nil, err
	}
	f.machine.client = client
	return &machineClient{Client: client, machine: f.machine}, nil
}

type machineClient struct {
	storage.Client
	machine *machine
}

func (c *machineClient) Batch(ctx context.Context, ops ...*storage.Operation) error {
	if c.machine.onWrite != nil {
		if err := c.machine.onWrite(ops); err != nil {
			return err
		}
	}
	if c.machine.dead.Load() {
		return errKilled
	}
	err := c.Client.Batch(ctx, ops...)
	if c.machine.afterWrite != nil {
		c.machine.afterWrite()
	}
	return err
}

func (c *machineClient) Walk(ctx context.Context, visit storage.WalkFunc) error {
	return c.Client.(storage.Walker).Walk(ctx, visit)
}

// ignoreKilled leaves out what is of a machine that was killed.
func ignoreKilled(err error) error {
	if errors.Is(err, errKilled) {
		return nil
	}
	return err
}
