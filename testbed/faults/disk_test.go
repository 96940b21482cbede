package faults

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/otel-topk/collector/testbed/collector"
)

// filling makes that nothing more can be stored, and that it can again.
type filling struct {
	name   string
	folder func(t *testing.T) string
	fill   func(t *testing.T, f *fleet)
	free   func(t *testing.T, f *fleet)
}

// Where nothing may be mounted, the second of them alone shows what a full disk does.
var fillings = []filling{
	{
		name: "no space left",
		folder: func(t *testing.T) string {
			dir := t.TempDir()
			if err := unix.Mount("none", dir, "tmpfs", 0, "size=64m"); err != nil {
				t.Logf("nothing can be mounted (%v): the limit of file size stands for it", err)
				return ""
			}
			t.Cleanup(func() { assert.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
			return dir
		},
		fill: func(t *testing.T, f *fleet) {
			file, err := os.Create(filepath.Join(f.folder, "filler"))
			require.NoError(t, err)
			defer file.Close()
			for size := 1 << 20; size > 0; {
				if _, err := file.Write(make([]byte, size)); err != nil {
					size /= 2
				}
			}
		},
		free: func(t *testing.T, f *fleet) { require.NoError(t, os.Remove(filepath.Join(f.folder, "filler"))) },
	},
	{
		name:   "no file may grow",
		folder: func(*testing.T) string { return "" },
		fill:   func(t *testing.T, f *fleet) { limitFiles(t, f, 1) },
		free:   func(t *testing.T, f *fleet) { limitFiles(t, f, unix.RLIM_INFINITY) },
	},
}

// limitFiles of the processes of a fleet to a size in bytes.
func limitFiles(t *testing.T, f *fleet, size uint64) {
	t.Helper()
	for _, m := range f.members() {
		require.NoError(t, unix.Prlimit(m.PID(), unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: unix.RLIM_INFINITY}, nil))
	}
}

// health is the status of a member's health check.
func (m *member) health(t *testing.T) int {
	t.Helper()
	status, _ := collector.Get(t, m.Ports.Address(t, "health"), "/")
	return status
}

func (m *member) awaitHealth(t *testing.T, want int) {
	t.Helper()
	collector.Await(t, func() bool { return m.health(t) == want },
		func() string { return fmt.Sprintf("%s without health %d:\n%s", m.name, want, m.Output()) })
}

// failures that the member counted.
func (m *member) failures(t *testing.T) float64 {
	t.Helper()
	name := "otelcol_processor_topk_storage_failures"
	if m.api != nil {
		name = "otelcol_receiver_trend_storage_failures"
	}
	return collector.Value(t, m.Telemetry(t), name)
}

func TestAFullDiskStopsNothingAndLosesNothingThatWasDurable(t *testing.T) {
	t.Parallel()
	for _, way := range fillings {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			first := chosenSeed()
			what := fmt.Sprintf("%s, seed %d", way.name, first)
			f := startFleet(t, settings{clock: "event", lateness: time.Minute, agents: 2, folder: way.folder(t)})
			l := newLedger()
			clients := f.clients(t, first, 1, workload{records: 200, slots: 50}, l)
			w := startWatch(f.gateway.api, queries())
			t.Cleanup(w.end)
			start := time.Now().Add(-5 * time.Hour).Truncate(time.Hour)
			replay(t, clients, start, 10, 6)
			require.NoError(t, settled(f.gateway.api, l, queries()), what)
			for _, m := range f.members() {
				require.Equal(t, http.StatusOK, m.health(t), "%s before", m.name)
			}

			way.fill(t, f)
			replay(t, clients, start.Add(10*time.Minute), 10, 60)
			require.NoError(t, settled(f.gateway.api, l, queries()), "lists go on: %s", what)
			for _, m := range f.members() {
				m.awaitHealth(t, http.StatusInternalServerError)
				require.Positive(t, m.failures(t), "%s: %s", m.name, what)
			}

			way.free(t, f)
			replay(t, clients, start.Add(20*time.Minute), 2, 6) // lists are written when they change
			for _, m := range f.members() {
				m.awaitHealth(t, http.StatusOK)
			}
			for _, m := range f.members() {
				m.kill()
			}
			for _, m := range f.members() {
				m.start(t)
			}
			replay(t, clients, start.Add(22*time.Minute), 2, 6)
			require.NoError(t, settled(f.gateway.api, l, queries()), "after a crash: %s", what)
			require.NoError(t, w.found(), what)
		})
	}
}

// A folder that cannot be written to: what was stored in it comes back once it can.
func TestAReadOnlyFolderStopsNothing(t *testing.T) {
	t.Parallel()
	first := chosenSeed()
	what := fmt.Sprintf("seed %d", first)
	f := startFleet(t, settings{clock: "event", lateness: time.Minute, agents: 1})
	before := newLedger()
	w := startWatch(f.gateway.api, queries())
	t.Cleanup(w.end)
	start := time.Now().Add(-5 * time.Hour).Truncate(time.Hour)
	replay(t, f.clients(t, first, 1, workload{records: 50, slots: 50}, before), start, 10, 6)
	require.NoError(t, settled(f.gateway.api, before, queries()), what)
	w.allowLoss() // until the folder can be read again

	free := make(map[*member]func())
	for _, m := range f.members() {
		m.kill()
		free[m] = protect(t, m.folder)
	}
	for _, m := range f.members() {
		m.start(t)
		m.awaitHealth(t, http.StatusInternalServerError)
		require.Contains(t, m.Output(), "\terror\t", "%s says that it stores nothing", m.name)
	}
	during := newLedger()
	replay(t, f.clients(t, first+1, 1, workload{records: 50, slots: 50}, during), start.Add(10*time.Minute), 10, 6)
	require.NoError(t, settled(f.gateway.api, during, queries()), "lists of what came since: %s", what)

	for _, m := range f.members() {
		m.end(t)
		free[m]()
	}
	for _, m := range f.members() {
		m.start(t)
		m.awaitHealth(t, http.StatusOK)
	}
	before.mayHold(during)
	replay(t, f.clients(t, first+2, 1, workload{records: 50, slots: 50}, before), start.Add(20*time.Minute), 2, 6)
	require.NoError(t, settled(f.gateway.api, before, queries()), what)
	require.NoError(t, w.found(), what)
}

// protect a folder from every write, until what is returned is called.
func protect(t *testing.T, folder string) (free func()) {
	t.Helper()
	if err := unix.Mount(folder, folder, "", unix.MS_BIND, ""); err != nil {
		t.Logf("nothing can be mounted (%v): a folder in which no file can be made stands for it", err)
		away := folder + ".away"
		require.NoError(t, os.Rename(folder, away))
		require.NoError(t, os.Symlink("/sys/kernel", folder))
		return func() {
			require.NoError(t, os.Remove(folder))
			require.NoError(t, os.Rename(away, folder))
		}
	}
	unmounted := sync.OnceFunc(func() { assert.NoError(t, unix.Unmount(folder, unix.MNT_DETACH)) })
	t.Cleanup(unmounted)
	require.NoError(t, unix.Mount("", folder, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	return unmounted
}
