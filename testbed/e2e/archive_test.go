package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/testbed/archived"
	"github.com/otel-topk/collector/testbed/collector"
)

// archiving is a collector that counts, archives and recounts.
type archiving struct {
	*deployment
	folder string
	store  *archive.Store // where the archive lies
	rules  string         // file of them, which processor and exporter read
}

const archiveExporters = `
exporters:
  parquet:
    archive: file://%[1]s/archive
    directory: %[1]s/segments
    segment: {max_age: 1s}
    retry: {initial_interval: 50ms}
    fsync: false
    keep: 876000h
  topk:
    endpoint: <api>
    recount:
      archive: file://%[1]s/archive
      rules: ${file:%[1]s/rules.yaml}
      directory: %[1]s
      max_range: 8760h
      max_jobs: 2
      max_waiting: 10000
      keep_jobs: 10000
      grace: 0s
      keep_tables: 876000h
`

const archivePipelines = `
service:
  pipelines:
    logs:
      receivers: [otlp]
      processors: [topk]
      exporters: [parquet]
    traces:
      receivers: [otlp]
      processors: [topk]
      exporters: [parquet]
`

// archiveConfig keeps all it has in a folder, with a file of rules.
func archiveConfig(clock, folder string) string {
	return otlpReceiver + fmt.Sprintf(trendReceiver, clock) +
		fmt.Sprintf(topkProcessor, clock, "      ${file:"+folder+"/rules.yaml}") +
		fmt.Sprintf(archiveExporters, folder) + archivePipelines + listPipeline
}

// startArchiving with rules as they stand under `rules:`.
func startArchiving(t *testing.T, clock, rules string, args ...string) *archiving {
	t.Helper()
	a := &archiving{folder: t.TempDir()}
	a.rules = filepath.Join(a.folder, "rules.yaml")
	for _, sub := range []string{"archive", "segments"} {
		require.NoError(t, os.Mkdir(filepath.Join(a.folder, sub), 0o700))
	}
	require.NoError(t, os.WriteFile(a.rules, []byte(rules), 0o600))
	a.store = archived.Open(t, a.url())
	ports := collector.NewPorts()
	c := collector.Start(t, archiveConfig(clock, a.folder), ports, args...)
	awaitGateway(t, c)
	a.deployment = &deployment{c, []*collector.Collector{c}, []*collector.Sender{collector.NewSender(t, ports.Address(t, "otlp"))}}
	return a
}

func (a *archiving) url() string { return "file://" + filepath.Join(a.folder, "archive") }
