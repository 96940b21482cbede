package wire

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/uplink"
)

const page = `# Bytes of states on the wire

Measured by ` + "`make bench-wire`" + `, for %v after %v: real processes on %d cores, %s. A shard with one rule, which counts log records of %d tenants by
Zipf's law of 1.01, sends its states to a gateway. Intervals, lateness and sizes are the defaults; each minute has its open states, their repeats and the
final ones of a minute before. At each gateway the list of ten of an hour held all records that were sent, within its bounds.

| groups | records a second | bytes a minute, zstd (default) | the same, gzip | open states, before compression | final states, before compression | requests a minute |
|---|---|---|---|---|---|---|
%s
Of one shard to one gateway; each further gateway that a shard names costs the same once more. Bytes are of gRPC requests with their headers, without what TCP
and TLS add. Open states of more than 512 KiB/s before compression, which is %s a minute, go at longer intervals, of at most 8 s: where one
emission takes more than 4 MiB, as of 300 groups of many keys, it is that each 8 s. Final states, one of each group and minute, come beside them.
`

// report what was measured, and write it down where it is to be written.
func report(t *testing.T, shards []*shard) {
	t.Helper()
	rows, minutes := new(strings.Builder), duration.Minutes()
	for _, s := range shards {
		zstd, gzip := s.used.zstd, s.used.gzip
		fmt.Fprintf(rows, "| %d | %.0f | %s | %s | %s | %s | %.0f |\n", s.groups, float64(s.used.records)/duration.Seconds(), megabytes(zstd.sent, minutes), megabytes(gzip.sent, minutes),
			megabytes(zstd.plain-zstd.final, minutes), megabytes(zstd.final, minutes), float64(zstd.requests)/minutes)
	}
	text := fmt.Sprintf(page, *duration, *warm, runtime.NumCPU(), runtime.Version(), tenants, rows, megabytes(60*uplink.OpenRate, 1))
	t.Log("\n" + text)
	if *results != "" {
		require.NoError(t, os.WriteFile(filepath.Join(*results, "wire.md"), []byte(text), 0o644))
	}
}

func megabytes(bytes int64, minutes float64) string {
	return fmt.Sprintf("%.2f MB", float64(bytes)/minutes/1e6)
}
