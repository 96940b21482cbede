// Package collector runs the built binary for tests: it starts it on free ports, sends it records, asks its API and
// stops it.
package collector

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	patience = 20 * time.Second // for anything that takes a moment
	ready    = "Everything is ready. Begin running and processing data."
	deafness = 200 * time.Millisecond // from then on, for which otelcol may not yet listen to signals: they would just end it
)

// Collector is a running process.
type Collector struct {
	Ports   *Ports
	file    string
	args    []string
	cmd     *exec.Cmd
	output  *output
	ended   chan struct{}
	stopped bool
}

// Binaries by the target of the Makefile that builds them.
var targets = map[string]string{"otelcol-topk": "build", "topk": "build", "otelcol-bench": "bench-collectors", "otelcol-router": "router"}

// Binary is the path of bin/name.
func Binary(t testing.TB, name string) string {
	t.Helper()
	return File(t, filepath.Join("bin", name), targets[name])
}

// File is the path of a file that the Makefile builds, by that target.
func File(t testing.TB, name, target string) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		require.NotEqual(t, filepath.Dir(dir), dir, "this test does not run inside the repository")
		dir = filepath.Dir(dir)
	}
	file := filepath.Join(dir, name)
	if _, err := os.Stat(file); err != nil {
		t.Fatalf("%v: run make %s first", err, target)
	}
	return file
}

// Start runs bin/otelcol-topk with a configuration, in which each <name> stands for a free address, and waits until it is
// ready. Its own metrics are at <telemetry>. When the test ends it is stopped, and must then end without an error.
// Further arguments are handed to the binary.
func Start(t testing.TB, config string, ports *Ports, args ...string) *Collector {
	t.Helper()
	return StartBinary(t, "otelcol-topk", config, ports, args...)
}

// StartBinary is Start for another file in bin.
func StartBinary(t testing.TB, name, config string, ports *Ports, args ...string) *Collector {
	t.Helper()
	c := launch(t, Binary(t, name), config, ports, args...)
	c.AwaitReady(t)
	return c
}

// AwaitReady waits until the collector is ready.
func (c *Collector) AwaitReady(t testing.TB) {
	t.Helper()
	select {
	case <-c.output.ready:
	case <-c.ended:
		t.Fatalf("the collector ended at once:\n%s", c.Output())
	case <-time.After(patience):
		c.end()
		t.Fatalf("the collector was not ready in %v:\n%s", patience, c.Output())
	}
	t.Cleanup(func() { c.Stop(t) })
}

// Refused runs the binary with a configuration that must not start, and returns what it says.
func Refused(t testing.TB, config string) string {
	t.Helper()
	c := launch(t, Binary(t, "otelcol-topk"), config, NewPorts())
	select {
	case <-c.ended:
	case <-c.output.ready:
		c.end()
		t.Fatalf("the collector started with\n%s", config)
	case <-time.After(patience):
		c.end()
		t.Fatalf("the collector neither started nor ended in %v:\n%s", patience, c.Output())
	}
	assert.NotZero(t, c.cmd.ProcessState.ExitCode())
	return c.Output()
}

func launch(t testing.TB, file, config string, ports *Ports, args ...string) *Collector {
	t.Helper()
	host, port, err := net.SplitHostPort(ports.Address(t, "telemetry"))
	require.NoError(t, err)
	telemetry := "yaml:service::telemetry::metrics::readers: [{pull: {exporter: {prometheus: {host: '" + host + "', port: " + port + "}}}}]"
	configFile := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(configFile, []byte(ports.Expand(t, config)), 0o600))

	return run(t, ports, file, append([]string{"--config", configFile, "--config", telemetry}, args...))
}

func run(t testing.TB, ports *Ports, file string, args []string) *Collector {
	t.Helper()
	c := &Collector{Ports: ports, file: file, args: args, output: &output{ready: make(chan struct{})}, ended: make(chan struct{})}
	c.cmd = exec.Command(file, args...)
	c.cmd.Stdout, c.cmd.Stderr = c.output, c.output
	require.NoError(t, c.cmd.Start())
	go func() {
		_ = c.cmd.Wait() // how it ended is in ProcessState
		close(c.ended)
	}()
	t.Cleanup(c.end) // of one that nobody stopped
	return c
}

// Stop ends the collector as an init system does. It must end by itself and without an error.
func (c *Collector) Stop(t testing.TB) {
	t.Helper()
	if c.stopped {
		return
	}
	c.stopped = true
	_ = c.signal(syscall.SIGTERM) // an error means that it has ended, which shows below
	select {
	case <-c.ended:
	case <-time.After(patience):
		c.end()
		t.Errorf("the collector did not stop in %v", patience)
	}
	assert.Zero(t, c.cmd.ProcessState.ExitCode(), "exit code")
	if t.Failed() {
		t.Logf("the collector said:\n%s", c.Output())
	}
}

// signal a collector that listens.
func (c *Collector) signal(s os.Signal) error {
	<-time.After(deafness - time.Since(c.output.readyAt()))
	return c.cmd.Process.Signal(s)
}

// Kill ends the collector at once, as a crash does.
func (c *Collector) Kill() {
	c.stopped = true
	c.end()
}

func (c *Collector) end() {
	_ = c.cmd.Process.Kill() // an error means that it has ended
	<-c.ended
}

// Again runs the same once more, after Stop or Kill, and does not wait: AwaitReady does, which also arranges its end.
func (c *Collector) Again(t testing.TB) *Collector {
	t.Helper()
	return run(t, c.Ports, c.file, c.args)
}

// CPU time that the process used, once it has ended.
func (c *Collector) CPU() time.Duration {
	return c.cmd.ProcessState.UserTime() + c.cmd.ProcessState.SystemTime()
}

// PID of the process.
func (c *Collector) PID() int { return c.cmd.Process.Pid }

var ownResource = regexp.MustCompile(`\t\{"resource": \{[^}]*\}(, )?`)

// Output is what the process printed so far, without the name and version that every line holds.
func (c *Collector) Output() string { return ownResource.ReplaceAllString(c.output.String(), "\t{") }

// output keeps what is written and notes when the collector is ready.
type output struct {
	mu    sync.Mutex
	text  bytes.Buffer
	ready chan struct{}
	at    time.Time // of the last time that it was ready
	seen  int       // times
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := max(0, o.text.Len()-len(ready)+1) // a line may come in two writes
	o.text.Write(p)
	if bytes.Contains(o.text.Bytes()[before:], []byte(ready)) {
		if o.seen == 0 {
			close(o.ready)
		}
		o.seen++
		o.at = time.Now()
	}
	return len(p), nil
}

// starts is how often the collector was ready.
func (o *output) starts() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.seen
}

func (o *output) readyAt() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.at
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
