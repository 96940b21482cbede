package rule

import (
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/pdata/plog"
)

const testNow = int64(1_700_000_000_000_000_000)

func compiled(t require.TestingT, change func(*Config)) *Rule {
	cfg := NewDefaultConfig()
	cfg.Name = "test"
	change(&cfg)
	r, err := New(cfg, 1, testSecret, componenttest.NewNopTelemetrySettings())
	require.NoError(t, err)
	return r
}

// logsOf is a request of n log records under one resource and scope.
func logsOf(n int, fill func(i int, r plog.LogRecord)) plog.Logs {
	ld := plog.NewLogs()
	records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for i := range n {
		fill(i, records.AppendEmpty())
	}
	return ld
}

func countLogs(r *Rule, ld plog.Logs) *Batch {
	b := new(Batch)
	r.Logs(ld, testNow, b)
	return b
}
