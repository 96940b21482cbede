package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/oracle"
)

const page = `# %s

Measured by ` + "`make bench-collectors`" + ` (%s of testbed/bench): log records of four attributes, 1,000 a request, 100,000
tenants by Zipf's law of 1.01. %s, %d of its cores, shared with the sender; %s.

%s`

// report shows what was measured, and writes it down where it is to be written.
func report(b *testing.B, file, title, benchmark, text string) {
	b.Helper()
	b.Log("\n" + text)
	if *results != "" {
		text = fmt.Sprintf(page, title, benchmark, collector.CPUModel(), runtime.NumCPU(), runtime.Version(), text)
		require.NoError(b, os.WriteFile(filepath.Join(*results, file), []byte(text), 0o644))
	}
}

// largest error bound of a list.
func largest(list *oracle.List) (bound uint64) {
	for _, item := range list.Items {
		bound = max(bound, item.ErrorBound)
	}
	return bound
}
