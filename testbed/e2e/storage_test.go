package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// storing makes what a collector of this configuration is made of store in a folder of its own: arguments for collector.Start.
func storing(t *testing.T, components ...string) []string {
	t.Helper()
	dir := t.TempDir()
	text := fmt.Sprintf("extensions: {file_storage: {directory: %q}}\nservice: {extensions: [file_storage]}\n", dir)
	for _, path := range components {
		text += path + "\n"
	}
	file := filepath.Join(dir, "storage.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return []string{"--config", file}
}

// What stores.
const (
	processorStores = "processors: {topk: {storage: file_storage}}"
	receiverStores  = "receivers: {trend: {storage: file_storage}}"
	exporterStores  = "exporters: {topk: {storage: file_storage}}"
)
