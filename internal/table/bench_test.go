package table_test

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/table"
)

const benchRows = 5_000_000

// file is an object on disk.
type file struct{ *os.File }

func (f file) Size() int64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

func benchKey(i int) string { return fmt.Sprintf("tenant-%08x", i) }

// benchTable is a table of benchRows rows on disk.
func benchTable(b *testing.B) file {
	path := filepath.Join(b.TempDir(), "table.parquet")
	f, err := os.Create(path)
	require.NoError(b, err)
	r := rand.New(rand.NewPCG(1, 1))
	rows := func(yield func(table.Row, error) bool) {
		for i := range benchRows {
			n := 1 + uint64(r.ExpFloat64()*20)
			if !yield(table.Row{Key: benchKey(i), Weight: n, Records: n}, nil) {
				return
			}
		}
	}
	require.NoError(b, table.Write(f, meta, rows))
	b.Cleanup(func() { _ = f.Close() })
	return file{f}
}

func BenchmarkWrite(b *testing.B) {
	for b.Loop() {
		f := benchTable(b)
		b.ReportMetric(float64(f.Size())/benchRows, "bytes/row")
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
}

func BenchmarkOpen(b *testing.B) {
	f := benchTable(b)
	for b.Loop() {
		_, err := table.Open(f)
		require.NoError(b, err)
	}
}

func BenchmarkCount(b *testing.B) {
	opened, err := table.Open(benchTable(b))
	require.NoError(b, err)
	r := rand.New(rand.NewPCG(1, 1))
	for b.Loop() {
		row, err := opened.Count(b.Context(), rule.Group{}, benchKey(r.IntN(benchRows)))
		require.NoError(b, err)
		require.Positive(b, row.Weight)
	}
}

func BenchmarkRows(b *testing.B) {
	opened, err := table.Open(benchTable(b))
	require.NoError(b, err)
	for b.Loop() {
		for _, err := range opened.Rows(b.Context(), rule.Group{}) {
			require.NoError(b, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
}

func BenchmarkMergeOf24(b *testing.B) {
	const rows = 100_000
	each := func(yield func(table.Row, error) bool) {
		for i := range rows {
			if !yield(table.Row{Key: benchKey(i), Weight: 1, Records: 1}, nil) {
				return
			}
		}
	}
	tables := make([]iter.Seq2[table.Row, error], 24)
	for i := range tables {
		tables[i] = each
	}
	for b.Loop() {
		for _, err := range table.Merge(tables...) {
			require.NoError(b, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows/24, "ns/row")
}
