package parquetexporter

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
)

// victim is the variable that makes TestVictim a process to kill: it archives requests of ten records until then, and prints how
// many records were answered.
const victim = "PARQUETEXPORTER_VICTIM"

// TestVictim is that process; in others it is nothing.
func TestVictim(t *testing.T) {
	if directory := os.Getenv(victim); directory != "" {
		live(t, place{directory: directory + "/segments", archive: directory + "/archive"})
	}
}

func live(t *testing.T, p place) {
	m := run(t, p.config(t, map[string]any{"segment": map[string]any{"max_size": 16_384, "max_age": "50ms"}}))
	var first int
	_, err := fmt.Sscan(os.Getenv(victim+"_FIRST"), &first)
	require.NoError(t, err)
	for n := first; ; n += 10 {
		numbers := upTo(n + 10)[n:]
		at := func(i int) time.Time { return noon.Add(-time.Duration(i%2) * time.Hour) }
		require.NoError(t, m.consumeLogs(context.Background(), logsAt(at, numbers...)))
		fmt.Println(n + 10)
	}
}

// TestKilledProcessesArchiveWhatTheyAnswered kills real processes, one after the other, in the same folder.
func TestKilledProcessesArchiveWhatTheyAnswered(t *testing.T) {
	dir := t.TempDir()
	p := place{directory: dir + "/segments", archive: dir + "/archive"}
	answered := map[int]bool{}
	next := 0
	for life := range 3 {
		process := exec.Command(os.Args[0], "-test.run=^TestVictim$")
		process.Env = append(os.Environ(), victim+"="+dir, fmt.Sprintf("%s_FIRST=%d", victim, next))
		out, err := process.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, process.Start())
		last := next
		lines := bufio.NewScanner(out)
		for range 30 + 30*life {
			require.True(t, lines.Scan())
			_, err := fmt.Sscan(lines.Text(), &last)
			require.NoError(t, err)
		}
		require.NoError(t, process.Process.Kill())
		for lines.Scan() {
			if _, err := fmt.Sscan(lines.Text(), &last); err != nil {
				break
			}
		}
		_ = process.Wait()
		for n := next; n < last; n++ {
			answered[n] = true
		}
		next = last + 10_000 // of what was sent and not answered nothing is known
	}
	run(t, p.config(t, nil)).end(t)

	got := map[int]int{}
	hours := p.archived(t, rule.SignalLogs)
	for h := range hours {
		assert.Contains(t, []archive.Hour{hour, hour - 1}, h)
		for n, times := range hours[h] {
			got[n] += times
		}
	}
	unanswered := 0
	for n, times := range got {
		require.Equal(t, 1, times, "record %d", n)
		if !answered[n] {
			unanswered++
		}
	}
	assert.Len(t, got, len(answered)+unanswered, "all that was answered is there")
	assert.LessOrEqual(t, unanswered, 3*10, "and at most the last request of each process beside it")
	assert.Empty(t, leftover(t, p))
}
