package kubernetes_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
)

const patience = 30 * time.Second

const operations = "docs/operations.md"

// rows of the tables whose first column is so headed, without the marks of code.
func rows(t *testing.T, page, first string) (found [][]string) {
	t.Helper()
	in := false
	for line := range strings.Lines(examples.Read(t, page)) {
		line = strings.TrimSpace(strings.ReplaceAll(line, "`", ""))
		if !strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "|--") {
			in = false
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case cells[0] == first:
			in = true
		case in && !strings.HasPrefix(line, "|--"):
			found = append(found, cells)
		}
	}
	require.NotEmpty(t, found, "%s has no table of %q", page, first)
	return found
}

var alertFiles = []string{"deploy/prometheus/fleet.yaml", "deploy/prometheus/rules.yaml", "deploy/prometheus/keys.yaml"}

func TestEachAlertHasALineThatSaysWhatToDo(t *testing.T) {
	var told, deployed []string
	for _, row := range rows(t, operations, "alert") {
		told = append(told, row[0])
		assert.Greater(t, len(row[1]), 40, row[0])
	}
	for _, file := range alertFiles {
		var rules struct {
			Groups []struct {
				Rules []struct{ Alert string }
			}
		}
		require.NoError(t, yaml.Unmarshal([]byte(examples.Read(t, file)), &rules))
		for _, group := range rules.Groups {
			for _, rule := range group.Rules {
				deployed = append(deployed, rule.Alert)
			}
		}
	}
	assert.ElementsMatch(t, deployed, told)
}

// Metrics of the collector's own: those of contrib's host metrics of the process.
var ownOfTheCollector = []string{"otelcol_process_memory_rss"}

func TestMetricsThatAreNamedExist(t *testing.T) {
	known := slices.Clone(ownOfTheCollector)
	files, err := filepath.Glob(examples.Path(t, "*/*/metadata.yaml"))
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var metadata struct {
			Telemetry struct {
				Metrics map[string]struct{ Histogram map[string]any }
			}
		}
		require.NoError(t, yaml.Unmarshal(text, &metadata))
		for name, metric := range metadata.Telemetry.Metrics {
			known = append(known, "otelcol_"+name)
			if metric.Histogram != nil {
				known = append(known, "otelcol_"+name+"_sum", "otelcol_"+name+"_count")
			}
		}
	}
	for _, page := range []string{"README.md", "exact.md"} {
		for _, name := range regexp.MustCompile("`(topk_[a-z_]+)").FindAllStringSubmatch(examples.Read(t, "exporter/topkexporter/"+page), -1) {
			known = append(known, name[1]) // held against the exporter by its own tests
		}
	}
	named := 0
	for _, file := range append(alertFiles, operations) {
		for _, name := range regexp.MustCompile(`\b(otelcol|topk)_[a-z_]+`).FindAllString(examples.Read(t, file), -1) {
			named++
			assert.Contains(t, known, name, file)
		}
	}
	assert.Greater(t, named, 30)
}

// bound that a collector prints for a configuration, in MiB.
func bound(t *testing.T, config string, env ...string) int64 {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	ctx, end := context.WithTimeout(t.Context(), patience)
	defer end()
	cmd := exec.CommandContext(ctx, collector.Binary(t, "otelcol-topk"), "--config", file)
	cmd.Env = append(os.Environ(), env...)
	said := &lockedBuffer{}
	cmd.Stdout, cmd.Stderr = said, said
	require.NoError(t, cmd.Start())
	defer func() {
		end()
		_ = cmd.Wait() // it was killed
	}()
	for ctx.Err() == nil {
		if found := memoryBounds.FindStringSubmatch(said.String()); found != nil {
			n, err := strconv.ParseInt(found[1], 10, 64)
			require.NoError(t, err)
			return mebibytes(n)
		}
		<-time.After(20 * time.Millisecond)
	}
	t.Fatalf("no bound is printed:\n%s", said.String())
	return 0
}

var memoryBounds = regexp.MustCompile(`"memory_bound_bytes": (\d+)`)

func mebibytes(n int64) int64 { return (n + 1<<20 - 1) >> 20 }

const boundConfig = `
receivers: {%s}
processors: {%s}
exporters: {nop: {}}
extensions: {file_storage: {directory: %s}}
service:
  extensions: [file_storage]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [%s], processors: [%s], exporters: [nop]}}
`

func TestTheBoundsOfTheTablesArePrinted(t *testing.T) {
	for _, row := range rows(t, operations, "groups of its one rule (max_groups)") {
		groups := "group_by: 'resource.attributes[\"g\"]', max_groups: " + row[0] + ", "
		if row[0] == "none" {
			groups = ""
		}
		topk := fmt.Sprintf(`topk: {storage: file_storage, pending: %s, rules: [{name: r, key: ['log.attributes["a"]'], %smax_key_bytes: %s}]}`, row[3], groups, row[1])
		config := fmt.Sprintf(boundConfig, "nop: {}", topk, t.TempDir(), "nop", "topk")
		assert.Equal(t, row[4], strconv.FormatInt(bound(t, config, "GOMAXPROCS="+row[2]), 10), "%v", row)
	}
	for _, row := range rows(t, operations, "max_rules") {
		trend := fmt.Sprintf("trend: {storage: file_storage, max_rules: %s, max_shards: %s, max_states_size: %s, max_lists_size: %s, protocols: {grpc: {endpoint: 'localhost:0'}}}",
			row[0], row[1], row[2], row[3])
		config := fmt.Sprintf(boundConfig, trend, "", t.TempDir(), "trend", "")
		assert.Equal(t, row[4], strconv.FormatInt(bound(t, config), 10), "%v", row)
	}
}

type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
