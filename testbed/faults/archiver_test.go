package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
)

// archiverConfig is of a collector that archives and recounts: folder of its storage, archive, folders of segments and of spills.
const archiverConfig = watched + `
receivers:
  otlp:
    protocols:
      grpc:
        endpoint: <otlp>
  trend:
    protocols:
      grpc:
        endpoint: <states>
exporters:
  parquet:
    archive: %[2]s
    directory: %[3]s
    shard: archiver
    columns: ['log.attributes["key"]']
    segment: {max_age: 300ms, max_size: 4194304}
    retry: {initial_interval: 50ms, max_interval: 500ms}
    timeout: 5s
  topk:
    storage: file_storage
    endpoint: <api>
    recount:
      archive: %[2]s
      directory: %[4]s
      memory_limit: 16777216
      grace: 0s
      rules:
        - name: keys
          key: log.attributes["key"]
service:
  extensions: [file_storage, health_check]
  pipelines:
    logs:
      receivers: [otlp]
      exporters: [parquet]
    logs/lists:
      receivers: [trend]
      exporters: [topk]
`

// folders of an archiver.
type folders struct{ stored, archive, segments, spills string }

// newFolders are folders of the test but for those that are given.
func newFolders(t *testing.T, given folders) folders {
	t.Helper()
	dir := t.TempDir()
	for name, folder := range map[string]*string{
		"stored": &given.stored, "archive": &given.archive, "segments": &given.segments, "spills": &given.spills,
	} {
		if *folder == "" {
			*folder = filepath.Join(dir, name)
		}
		require.NoError(t, os.MkdirAll(*folder, 0o700))
	}
	return given
}

func (f folders) url() string { return "file://" + f.archive }

// startArchiver with an archive at url.
func startArchiver(t *testing.T, f folders, url string) *member {
	t.Helper()
	ports := collector.NewPorts()
	config := fmt.Sprintf(archiverConfig, f.stored, url, f.segments, f.spills)
	m := &member{
		Collector: collector.Start(t, config, ports, componentStatus),
		name:      "archiver", folder: f.stored, api: newAPI(ports.Address(t, "api")),
	}
	m.api.rises()
	return m
}
