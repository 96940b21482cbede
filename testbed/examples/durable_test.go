package examples_test

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
)

const foldersOf = `
extensions:
  storage_check: {directory: %[1]q}
  file_storage: {directory: %[1]q, compaction: {directory: %[1]q}}
`

// startDurable is the durable example, and the folder that it stores in.
func startDurable(t *testing.T) (c *collector.Collector, dir string) {
	t.Helper()
	dir = t.TempDir()
	return collector.Start(t, examples.Load(t, "examples/durable/collector.yaml", fmt.Sprintf(foldersOf, dir), often), collector.NewPorts()), dir
}

// again starts a collector that has ended.
func again(t *testing.T, c *collector.Collector) *collector.Collector {
	t.Helper()
	c = c.Again(t)
	c.AwaitReady(t)
	return c
}

func TestADurableCollectorGoesOnAfterAKill(t *testing.T) {
	c, _ := startDurable(t)
	gen := newGenerator(t)
	stream(t, collector.NewSender(t, c.Ports.Address(t, "otlp")), gen, 2)
	before := c.AwaitTotal(t, 2*perRequest)

	c.Kill()
	c = again(t, c)
	served := c.Trending(t)
	assert.Equal(t, before.Items, served.Items, "the list that was served is served at once")
	stream(t, collector.NewSender(t, c.Ports.Address(t, "otlp")), gen, 1)
	list := c.AwaitTotal(t, 3*perRequest)
	c.AwaitReporting(t, 1)
	hour := c.Trending(t, "at", list.AsOf.Format("2006-01-02T15:04:05Z"), "window", "1h")
	assert.Contains(t, hour.PartialReasons, "open_hour")

	c.Stop(t)
	c = again(t, c)
	collector.Await(t, func() bool {
		now := c.AwaitTotal(t, 3*perRequest)
		return now.AsOf.After(*list.AsOf)
	}, func() string { return "no list since the start" })
	assert.NotContains(t, c.Output(), "lost")
}

func TestDamagedStorageFilesAreSetAsideAndTheLossIsSeen(t *testing.T) {
	c, dir := startDurable(t)
	gen := newGenerator(t)
	stream(t, collector.NewSender(t, c.Ports.Address(t, "otlp")), gen, 2)
	c.AwaitTotal(t, 2*perRequest)
	c.Stop(t)

	const twoPages = 8192
	for name, damage := range map[string]func([]byte) []byte{
		"receiver_trend_": func(b []byte) []byte { _, _ = rand.Read(b); return b },
		"processor_topk_": func(b []byte) []byte { clear(b[twoPages:]); return b }, // as a power cut may leave it
		"exporter_topk_":  func(b []byte) []byte { return b[:twoPages] },
	} {
		file := filepath.Join(dir, name)
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Greater(t, len(content), twoPages)
		require.NoError(t, os.WriteFile(file, damage(content), 0o600))
	}
	c = again(t, c)
	for _, name := range []string{"receiver_trend_", "processor_topk_", "exporter_topk_"} {
		assert.FileExists(t, filepath.Join(dir, name+".damaged"))
		assert.Contains(t, c.Output(), filepath.Join(dir, name))
	}
	assert.Contains(t, c.Output(), "A storage file is damaged and was set aside; its component begins anew, and what it had stored is lost")
	assert.EqualValues(t, 3, collector.Value(t, c.Telemetry(t), "otelcol_extension_storage_check_damaged"))
	assert.EqualValues(t, 1, collector.Value(t, c.Telemetry(t), "otelcol_processor_topk_storage_up"))
	assert.EqualValues(t, 1, collector.Value(t, c.Telemetry(t), "otelcol_receiver_trend_storage_up"))
	assert.EqualValues(t, 1, collector.Value(t, c.Telemetry(t), "otelcol_exporter_topk_storage_up"))

	stream(t, collector.NewSender(t, c.Ports.Address(t, "otlp")), gen, 1)
	list := c.AwaitTotal(t, perRequest)
	assert.Contains(t, list.PartialReasons, "short_window")
}
