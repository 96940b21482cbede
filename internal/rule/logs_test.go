package rule

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
)

func TestLogsCountUnderAnAttribute(t *testing.T) {
	r := compiled(t, func(c *Config) { c.Key = []string{`log.attributes["tenant"]`} })
	ld := plog.NewLogs()
	records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	records.AppendEmpty().Attributes().PutStr("tenant", "a")
	records.AppendEmpty().Attributes().PutInt("tenant", 200)
	records.AppendEmpty()
	var b Batch
	r.Logs(ld, 7, &b)
	require.Equal(t, []string{"a", "200"}, b.Keys)
	require.Nil(t, b.Weights)
	require.Nil(t, b.Groups)
	require.Equal(t, []int64{7, 7}, b.Times)
	require.Equal(t, Skipped{MissingKey: 1}, b.Skipped)
}
