package depot

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/extension"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerDir); dir != "" {
		writeUntilKilled(dir)
	}
	goleak.VerifyTestMain(m)
}

var (
	ctx         = context.Background()
	fileStorage = component.MustNewID("file_storage")
	processor   = component.MustNewID("topk")
)

// host has these extensions.
type host map[component.ID]component.Component

func (h host) GetExtensions() map[component.ID]component.Component { return h }

// fileHost has the real extension on dir, as a collector would.
func fileHost(dir string) (host, error) {
	factory := filestorage.NewFactory()
	cfg := factory.CreateDefaultConfig().(*filestorage.Config)
	cfg.Directory, cfg.Timeout = dir, 10*time.Millisecond
	e, err := factory.Create(ctx, extension.Settings{ID: fileStorage, TelemetrySettings: componenttest.NewNopTelemetrySettings()}, cfg)
	return host{fileStorage: e}, err
}

func connect(dir string) (*Depot, error) {
	h, err := fileHost(dir)
	if err != nil {
		return nil, err
	}
	return Connect(ctx, h, fileStorage, component.KindProcessor, processor)
}

// reopen returns a depot on dir and what it held then.
func reopen(t require.TestingT, dir string) (*Depot, map[string]string) {
	d, err := connect(dir)
	require.NoError(t, err)
	return d, walk(t, d)
}

// walk returns the values that are whole.
func walk(t require.TestingT, d *Depot) map[string]string {
	values := map[string]string{}
	require.NoError(t, d.Walk(ctx, func(v Value) {
		if value, ok := v.Open(); ok {
			values[v.Key] = string(value)
		}
	}))
	return values
}

// file is the path of the only file in dir.
func file(t require.TestingT, dir string) string {
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	return files[0]
}

// edit what lies in the file of a closed depot.
func edit(t require.TestingT, dir string, do func(values *bbolt.Bucket) error) {
	db, err := bbolt.Open(file(t, dir), 0o600, nil)
	require.NoError(t, err)
	require.NoError(t, db.Update(func(tx *bbolt.Tx) error { return do(tx.Bucket([]byte("default"))) }))
	require.NoError(t, db.Close())
}

// stored is what lies in the file of a closed depot.
func stored(t require.TestingT, dir string) map[string]string {
	values := map[string]string{}
	edit(t, dir, func(b *bbolt.Bucket) error {
		return b.ForEach(func(k, v []byte) error {
			values[string(k)] = string(v)
			return nil
		})
	})
	return values
}

// fill makes a depot in dir that holds n values, and closes it.
func fill(t require.TestingT, dir string, n int) map[string]string {
	d, values := reopen(t, dir)
	require.Empty(t, values)
	for i := range n {
		key, value := fmt.Sprintf("value/%03d", i), fmt.Sprintf("this is value %d", i)
		require.NoError(t, d.Set(key, []byte(value)))
		values[key] = value
	}
	require.NoError(t, d.Close(ctx))
	return values
}
