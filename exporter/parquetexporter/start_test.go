package parquetexporter

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
)

func TestTheStartSaysWhatIsArchivedWhere(t *testing.T) {
	p := newPlace(t)
	m := run(t, p.config(t, nil))
	m.end(t)
	require.Equal(t, []string{"Archiving"}, m.messages())
	assert.Equal(t, map[string]any{"archive": "file://" + p.archive, "directory": p.directory, "shard": "a"}, m.logs.All()[0].ContextMap())
}

// TestWhatACrashLeftIsRemovedWhateverTheShardIsNow: that of the collector's instance is another at every start.
func TestWhatACrashLeftIsRemovedWhateverTheShardIsNow(t *testing.T) {
	p := newPlace(t)
	unconverted(t, p, 3, always(noon))
	folder := filepath.Join(p.archive, "logs/year=2026/month=01/day=02/hour=12")
	require.NoError(t, os.MkdirAll(folder, 0o750))
	half := func(shard string) string {
		path := filepath.Join(folder, "."+archive.FileName(shard, "0123456789abcdef")+".1234.tmp")
		require.NoError(t, os.WriteFile(path, []byte("half"), 0o600))
		return path
	}
	earlier, own, foreign := half("a"), half("renamed"), half("other")
	m := run(t, p.config(t, map[string]any{"shard": "renamed"}))
	m.end(t)
	assert.NoFileExists(t, earlier)
	assert.NoFileExists(t, own)
	assert.FileExists(t, foreign, "another process may be writing it")
	assert.Contains(t, m.messages(), "Removed files that an earlier process left half written in the archive")
	assert.Len(t, p.archived(t, rule.SignalLogs)[hour], 3)
}

const never = "A path in columns was found in no record yet; is it right?"

func TestAColumnThatMatchesNothingIsNamedThoughNoMoreComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := run(t, newPlace(t).config(t, map[string]any{"columns": []any{`log.attributes["nobody"]`}, "segment": map[string]any{"max_age": "1s"}}), plain)
		require.NoError(t, m.consumeLogs(context.Background(), logsAt(always(noon), 1)))
		time.Sleep(idle)
		synctest.Wait()
		assert.NotContains(t, m.messages(), never)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		assert.Contains(t, m.messages(), never)
		m.end(t)
	})
}

func TestAColumnThatMatchesNothingIsNamedAtTheStop(t *testing.T) {
	columns := map[string]any{"columns": []any{`log.attributes["nobody"]`, `log.attributes["tenant.id"]`, `span.attributes["nobody"]`}}
	m := run(t, newPlace(t).config(t, columns))
	require.NoError(t, m.consumeLogs(context.Background(), logsAt(always(noon), 1)))
	m.end(t)
	require.Equal(t, []string{"Archiving", never}, m.messages())
	assert.Equal(t, map[string]any{"path": `log.attributes["nobody"]`}, m.logs.All()[1].ContextMap())

	m = run(t, newPlace(t).config(t, columns))
	m.end(t)
	assert.NotContains(t, m.messages(), never, "nothing came")
}
