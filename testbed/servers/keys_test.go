// Package servers_test holds the collector against programs of others: Prometheus, Chromium and an S3 server. `make test-servers`
// installs them.
package servers_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/testbed/collector"
)

// names are keys that something might stumble over.
var names = []string{
	"plain", "", " ", "a/b%2F?c#d+e..", `quote " and \ back`, "line\nbreak", "{rule=\"x\"} 1", "ключ 鍵 🗝",
	`<img src=x onerror="document.title='owned'">`, `<script>document.title='owned'</script>`, "javascript:document.title='owned'",
	"no UTF-8 \xff",
}

// repaired are names as they are counted.
func repaired() []string {
	valid := make([]string, len(names))
	for i, name := range names {
		valid[i] = strings.ToValidUTF8(name, "\ufffd")
	}
	return valid
}

// send one log record a tenant.
func send(t *testing.T, ports *collector.Ports, tenants ...string) {
	t.Helper()
	ld := plog.NewLogs()
	records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for _, name := range tenants {
		record := records.AppendEmpty()
		record.SetTimestamp(pcommon.NewTimestampFromTime(time.Now()))
		record.Attributes().PutStr("tenant.id", name)
	}
	err := collector.NewSender(t, ports.Address(t, "otlp")).Logs(t.Context(), ld)
	require.NoError(t, err)
}
