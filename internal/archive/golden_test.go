package archive

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/rule"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, found string) {
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(found), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), found, "go test ./internal/archive -update rewrites it")
}

// TestTheLayoutStays holds the schema, and a file as any other program reads it.
func TestTheLayoutStays(t *testing.T) {
	for _, signal := range []string{rule.SignalLogs, rule.SignalTraces} {
		data := sample(t, signal)
		f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
		require.NoError(t, err)
		golden(t, signal+".schema.txt", f.Schema().String()+"\n")

		var text strings.Builder
		meta, _ := f.Lookup(metaKey)
		version, _ := f.Lookup(versionKey)
		fmt.Fprintf(&text, "%s: %s\n%s: %s\n", versionKey, version, metaKey, meta)
		rows := f.RowGroups()[0].Rows()
		read := make([]parquet.Row, 9)
		n, _ := rows.ReadRows(read)
		require.Equal(t, len(read), n)
		for i, row := range read {
			if i%4 > 0 && i != 7 {
				continue
			}
			fmt.Fprintf(&text, "\nrow %d\n", i)
			for _, v := range row {
				if !v.IsNull() {
					fmt.Fprintf(&text, "%-45s %q\n", strings.Join(f.Schema().Columns()[v.Column()], "."), v.String())
				}
			}
		}
		require.NoError(t, rows.Close())
		golden(t, signal+".rows.txt", text.String())
	}
}
