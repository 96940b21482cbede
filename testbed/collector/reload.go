package collector

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Configure writes another configuration to the collector's file. Reload takes it, or the next start.
func (c *Collector) Configure(t testing.TB, config string) {
	t.Helper()
	require.NoError(t, os.WriteFile(c.args[1], []byte(c.Ports.Expand(t, config)), 0o600))
}

// Config that the collector's file holds.
func (c *Collector) Config(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(c.args[1])
	require.NoError(t, err)
	return string(text)
}

// Reload has a running collector take its file anew, and waits until it is ready again.
func (c *Collector) Reload(t testing.TB) {
	t.Helper()
	starts := c.output.starts()
	require.NoError(t, c.signal(syscall.SIGHUP))
	Await(t, func() bool {
		select {
		case <-c.ended:
			t.Fatalf("the collector ended at its reload:\n%s", c.Output())
		default:
		}
		return c.output.starts() > starts
	}, func() string { return "no end of the reload:\n" + c.Output() })
}

// ReloadRefused has a running collector take its file anew, which it must not do, and returns how it ended.
func (c *Collector) ReloadRefused(t testing.TB) (exitCode int) {
	t.Helper()
	require.NoError(t, c.signal(syscall.SIGHUP))
	select {
	case <-c.ended:
	case <-time.After(patience):
		t.Fatalf("after %v the collector still runs:\n%s", patience, c.Output())
	}
	c.stopped = true
	return c.cmd.ProcessState.ExitCode()
}
