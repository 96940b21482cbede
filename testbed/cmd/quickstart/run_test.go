package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
)

// screen is what the user sees.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// quickstart of the repository's example on free ports.
func quickstart(t *testing.T) options {
	t.Helper()
	ports := collector.NewPorts()
	config := filepath.Join(t.TempDir(), "config.yaml")
	text := ports.Expand(t, examples.Load(t, "examples/quickstart/config.yaml", "service: {telemetry: {metrics: {level: none}}}"))
	require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
	return options{
		collector: collector.Binary(t, "otelcol-topk"), configs: []string{config}, rate: "5000", patience: 30 * time.Second,
		api: ports.Address(t, "api"), otlp: ports.Address(t, "otlp"), log: filepath.Join(t.TempDir(), "log"),
	}
}

// show runs the quickstart until it shows what it waits for, stops it, and returns what it showed.
func show(t *testing.T, opts options) string {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var out screen
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, opts, &out) }()
	for !strings.Contains(out.String(), "Ctrl-C stops it.") {
		select {
		case err := <-ended:
			require.NoError(t, err)
			require.Fail(t, "the quickstart ended by itself", out.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
	interrupt()
	require.NoError(t, <-ended)
	for _, addr := range []string{opts.api, opts.otlp} {
		assert.NoError(t, free(addr), "after the quickstart has ended")
	}
	return out.String()
}

func TestTheQuickstartShowsTenItemsAndStopsClean(t *testing.T) {
	opts := quickstart(t)
	opts.loadgen = filepath.Join(t.TempDir(), "loadgen")
	said, err := exec.Command("go", "build", "-o", opts.loadgen, "../loadgen").CombinedOutput()
	require.NoError(t, err, "%s", said)
	shown := show(t, opts)
	assert.Contains(t, shown, "\n    10  ")
	assert.Contains(t, shown, "http://"+opts.api+"/")
}

func TestTheQuickstartWithoutAStreamStartsEmpty(t *testing.T) {
	assert.Contains(t, show(t, quickstart(t)), "Nothing counted yet.")
}
