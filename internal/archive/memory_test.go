package archive

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/rule"
)

// TestLongTextsThatNeverRepeatTakeLittleMemory holds that dictionaries are given up: with one of all the texts of a row group, and what
// is made of it, this took 630 MB.
func TestLongTextsThatNeverRepeatTakeLittleMemory(t *testing.T) {
	w, err := NewWriter(io.Discard, Meta{Signal: rule.SignalLogs, Columns: mustColumns(t, benchColumns...)})
	require.NoError(t, err)
	rl := plog.NewLogs().ResourceLogs().AppendEmpty()
	sl := rl.ScopeLogs().AppendEmpty()
	r := sl.LogRecords().AppendEmpty()
	long := strings.Repeat("x", 100_000)
	var peak uint64
	for i := range 750 {
		r.Body().SetStr(fmt.Sprint(long, i))
		r.Attributes().PutStr("tenant.id", fmt.Sprintf("tenant-%d", i))
		require.NoError(t, w.Log(rl, sl, r, 5))
		if i%20 == 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapInuse)
		}
	}
	require.NoError(t, w.Close())
	require.Less(t, peak, uint64(350<<20))
}
