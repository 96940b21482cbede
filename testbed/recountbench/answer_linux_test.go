package recountbench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
)

// answer is what topk recount printed, and what that took.
type answer struct {
	Results []struct {
		Scope          string
		Group          string
		Total, Records uint64
		Distinct       uint64
		Items          []item
	}
	cost cost
}

// cost of a process.
type cost struct {
	Wall, CPU time.Duration
	Resident  int64 // bytes, at most
}

type item struct {
	Key   string
	Count uint64
}

// ask runs the real command over the whole hour.
func ask(t *testing.T, archive string, args ...string) *answer {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, append([]string{
		measuring, collector.Binary(t, "topk"), "recount", "--archive", archive, "--rules", "testdata/rules.yaml", "--output", "json", "--memory-limit", "512MiB", "--directory", t.TempDir(),
		"--from", start.Format(time.RFC3339), "--to", start.Add(time.Hour).Format(time.RFC3339),
	}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Run(), stderr.String())
	a := new(answer)
	require.NoError(t, json.Unmarshal(stderr.Bytes(), &a.cost))
	require.NoError(t, json.Unmarshal(stdout.Bytes(), a))
	return a
}

// measuring as the first argument makes this test's binary run the others as a command, and print what that cost. A process is charged
// with the memory that its parent had when it was started, and this one's is large.
const measuring = "measure"

func TestMain(m *testing.M) {
	if len(os.Args) < 3 || os.Args[1] != measuring {
		os.Exit(m.Run())
	}
	cmd := exec.Command(os.Args[2], os.Args[3:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	before := time.Now()
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stderr).Encode(cost{
		time.Since(before), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10,
	})
}

// rate in millions of records by CPU second.
func (a *answer) rate(records int) float64 { return float64(records) / 1e6 / a.cost.CPU.Seconds() }

func (a *answer) row(question string, records int) string {
	return fmt.Sprintf("| %s | %.1f s | %.1f s | %.2f million | %.0f MB |\n", question, a.cost.Wall.Seconds(), a.cost.CPU.Seconds(), a.rate(records), float64(a.cost.Resident)/1e6)
}

// first k of the tenants with these counts.
func first(k int, counts []uint32) (items []item) {
	for i, n := range counts {
		if n > 0 {
			items = append(items, item{Key(i), uint64(n)})
		}
	}
	slices.SortFunc(items, func(a, b item) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Key, b.Key)) })
	return slices.Clone(items[:min(k, len(items))])
}
