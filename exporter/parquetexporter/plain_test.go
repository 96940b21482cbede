package parquetexporter

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
)

// plain has files of one number a line in place of Parquet, whose library shares channels with what is outside of a bubble of
// testing/synctest.
func plain(a *archiver) {
	a.create = func(w io.Writer, _ archive.Meta) (writer, error) {
		return &plainWriter{w: w, columns: len(a.columns.all)}, nil
	}
}

type plainWriter struct {
	w       io.Writer
	rows    int64
	columns int
}

func (p *plainWriter) Log(_ plog.ResourceLogs, _ plog.ScopeLogs, record plog.LogRecord, _ int64) error {
	n, _ := record.Attributes().Get("n")
	p.rows++
	_, err := fmt.Fprintln(p.w, n.Int())
	return err
}

func (*plainWriter) Span(ptrace.ResourceSpans, ptrace.ScopeSpans, ptrace.Span, int64) error {
	return nil
}
func (p *plainWriter) Rows() int64      { return p.rows }
func (p *plainWriter) Present() []int64 { return make([]int64, p.columns) }
func (*plainWriter) Close() error       { return nil }

// plain is what archived is of plain files.
func (p place) plain(t testing.TB) map[archive.Hour]map[int]int {
	all := map[archive.Hour]map[int]int{}
	for _, f := range p.files(t, rule.SignalLogs) {
		if all[f.Hour] == nil {
			all[f.Hour] = map[int]int{}
		}
		content, err := os.ReadFile(filepath.Join(p.archive, f.Path()))
		require.NoError(t, err)
		for line := range strings.Lines(string(content)) {
			var n int
			_, err := fmt.Sscan(line, &n)
			require.NoError(t, err)
			all[f.Hour][n]++
		}
	}
	return all
}
