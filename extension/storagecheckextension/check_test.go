package storagecheckextension

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otel-topk/collector/extension/storagecheckextension/internal/metadatatest"
)

// run the extension on dir and say what it logged and how many files it counted.
func run(t *testing.T, dir string) (logged *observer.ObservedLogs, damaged int64) {
	t.Helper()
	tel := componenttest.NewTelemetry()
	set := metadatatest.NewSettings(tel)
	core, logged := observer.New(zap.DebugLevel)
	set.Logger = zap.New(core)
	cfg := NewFactory().CreateDefaultConfig().(*Config)
	cfg.Directory = dir
	e, err := NewFactory().Create(t.Context(), set, cfg)
	require.NoError(t, err)
	require.NoError(t, e.Start(t.Context(), componenttest.NewNopHost()))
	if m, err := tel.GetMetric("otelcol_extension_storage_check_damaged"); err == nil {
		damaged = m.Data.(metricdata.Sum[int64]).DataPoints[0].Value
	}
	require.NoError(t, e.Shutdown(t.Context()))
	require.NoError(t, tel.Shutdown(t.Context()))
	return logged, damaged
}

func TestDamagedFilesAreSetAsideAndOthersStay(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	put := func(name string, content []byte) { require.NoError(t, os.WriteFile(in(name), content, 0o600)) }
	whole := newFile(t, in("processor_topk_"), 10, 20)
	put("exporter_topk_~002Fa", []byte("secret-0 stood here"))
	put("exporter_topk_~002Fa.damaged", []byte("of the time before"))
	put("receiver_trend_", append(whole[:8192:8192], make([]byte, len(whole)-8192)...))
	put("connector_new_", nil)
	put("notes.txt", []byte("of somebody else"))
	put("tempdb123", []byte("of a compaction"))

	logged, damaged := run(t, dir)
	assert.EqualValues(t, 2, damaged)
	require.Equal(t, 2, logged.FilterMessageSnippet("is damaged and was set aside").FilterLevelExact(zap.ErrorLevel).Len())
	require.Equal(t, 2, logged.Len())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	assert.Equal(t, []string{
		"connector_new_", "exporter_topk_~002Fa.damaged", "notes.txt", "processor_topk_", "receiver_trend_.damaged", "tempdb123",
	}, names)
	aside, err := os.ReadFile(in("exporter_topk_~002Fa.damaged"))
	require.NoError(t, err)
	assert.Equal(t, "secret-0 stood here", string(aside), "the newest damaged file is kept")
	for _, line := range logged.All() {
		assert.NotContains(t, line.ContextMap(), "secret")
	}

	logged, damaged = run(t, dir)
	assert.Zero(t, damaged)
	assert.Zero(t, logged.Len())
}

func TestAFileInUseIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "processor_topk_")
	newFile(t, path, 10)
	db, err := bbolt.Open(path, 0o600, options())
	require.NoError(t, err)
	defer db.Close()

	logged, damaged := run(t, dir)
	assert.Zero(t, damaged)
	assert.Equal(t, 1, logged.FilterMessage("A storage file is not checked").Len())
	assert.FileExists(t, path)
}

func TestADirectoryThatIsNotYetMadeIsNoProblem(t *testing.T) {
	logged, damaged := run(t, filepath.Join(t.TempDir(), "none"))
	assert.Zero(t, damaged)
	assert.Zero(t, logged.Len())
}

func TestADirectoryIsNeeded(t *testing.T) {
	require.NoError(t, createDefaultConfig().(*Config).Validate())
	require.ErrorContains(t, (&Config{}).Validate(), "directory: ")
}
