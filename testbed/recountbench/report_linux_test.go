package recountbench

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
)

const page = `# Recounts of one big hour

Measured by ` + "`make bench-recount`" + `: %d million log records of %d million distinct tenants in %d files of together %.2f GB (%.1f bytes
a record), with four attributes and the body; the tenant and the region have columns of their own. ` + "`topk recount --memory-limit 512MiB`" + ` as
a process of its own, start to end. %s, %d of its cores, shared with others; %s.

| question | wall | CPU | records a CPU second | resident at most |
|---|---|---|---|---|
%s
%s`

// report writes down what was measured.
func report(t *testing.T, written *Written, rows, note string) {
	text := fmt.Sprintf(page, *records/1e6, *distinct/1e6, *files, float64(written.Bytes)/1e9, float64(written.Bytes)/float64(*records),
		collector.CPUModel(), runtime.NumCPU(), runtime.Version(), rows, note)
	require.NoError(t, os.WriteFile(filepath.Join(*results, "recount.md"), []byte(text), 0o644))
}
