package wire_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/wire"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// goldens are requests whose bytes must not change within a format version.
func goldens(t testing.TB) map[string]plog.Logs {
	states := plog.NewLogs()
	wire.AppendReport(states, &wire.Report{
		Epoch: wire.Epoch{1, 2, 3}, Shard: "shard-1", Goodbye: true,
		Rules: []wire.RuleReport{{Rule: "tenants", Records: 1, Late: 2, Future: 3, Dropped: 4}},
	})
	s := state(t)
	s.Final = true
	_, err := wire.AppendState(states, s)
	require.NoError(t, err)

	tiers := plog.NewLogs()
	wire.AppendReport(tiers, gatewayReport())
	s = state(t)
	s.Sender, s.ReplicaSet = wire.Epoch{4, 5}, "west"
	_, err = wire.AppendState(tiers, s)
	require.NoError(t, err)

	lists := plog.NewLogs()
	wire.AppendSnapshot(lists, snapshot(t))
	_, err = wire.AppendWindowSummary(lists, windowSummary(t))
	require.NoError(t, err)

	hours := plog.NewLogs()
	_, err = wire.AppendRollup(hours, rollup(t))
	require.NoError(t, err)
	return map[string]plog.Logs{"messages": states, "tiers": tiers, "publications": lists, "rollups": hours}
}

func TestTheFormatIsTheGoldenOne(t *testing.T) {
	for name, ld := range goldens(t) {
		t.Run(name, func(t *testing.T) {
			written, err := (&plog.ProtoMarshaler{}).MarshalLogs(ld)
			require.NoError(t, err)
			golden(t, name+".pb", written)

			readable, err := (&plog.JSONMarshaler{}).MarshalLogs(ld)
			require.NoError(t, err)
			var indented bytes.Buffer
			require.NoError(t, json.Indent(&indented, readable, "", "  "))
			golden(t, name+".json", append(indented.Bytes(), '\n'))
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	if filepath.Ext(name) == ".json" {
		assert.Equal(t, string(want), string(got))
		return
	}
	assert.True(t, bytes.Equal(want, got), "%s: %d bytes differ from %d", path, len(got), len(want))
}
