package examples_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
)

// What the page's command for looking up a known address prints for this one with this seed.
const (
	knownAddress   = "203.0.113.7"
	knownPseudonym = "e93b2ce48883a10ccb8d0a7e3248cf5f"
	lookUp         = `openssl dgst -sha256 -hmac "$TOPK_SEED" -r | cut -c1-32`
)

func TestPseudonymsAreCountedAndAddressesAreNowhere(t *testing.T) {
	t.Setenv("TOPK_SEED", seed)
	require.Contains(t, examples.Read(t, "README.md"), lookUp)
	ports := collector.NewPorts()
	sink := collector.NewSink(t, ports.Address(t, "sink"))
	dir := t.TempDir()
	c := collector.Start(t, examples.Load(t, "examples/pseudonyms/collector.yaml", durable(dir), debugLevel, often, `
exporters:
  otlp_grpc:
    endpoint: <sink>
    compression: none
    tls: {insecure: true}
    sending_queue: {enabled: false}
service:
  pipelines:
    logs: {exporters: [otlp_grpc]}
`), ports)
	ld := clients()
	sent, err := (&plog.ProtoMarshaler{}).MarshalLogs(ld)
	require.NoError(t, err)
	sender := collector.NewSender(t, ports.Address(t, "otlp"))
	require.NoError(t, sender.Logs(t.Context(), ld))
	assert.Equal(t, [][]byte{sent}, sink.Requests(collector.LogsMethod), "records go on as they came")

	list := c.AwaitTotal(t, 10, "rule", "clients")
	c.AwaitTotal(t, 10, "rule", "clients_by_route")
	assert.Equal(t, knownPseudonym, list.Items[0].Key)
	assert.EqualValues(t, 4, c.Count(t, knownPseudonym, "rule", "clients").Estimate)
	assert.EqualValues(t, 3, c.Count(t, pseudonym(address(1)), "rule", "clients").Estimate)
	assert.Zero(t, c.Count(t, knownAddress, "rule", "clients").Estimate)

	seen := []string{c.Telemetry(t)}
	for _, path := range []string{
		"/v1/trending?rule=clients", "/v1/trending?rule=clients_by_route", "/v1/rules", "/v1/status", "/metrics", "/", "/openapi.yaml",
	} {
		status, body := c.Get(t, path)
		require.Equal(t, http.StatusOK, status, path)
		seen = append(seen, body)
	}
	c.Stop(t)
	seen = append(seen, c.Output())
	seen = append(seen, stored(t, dir)...)
	for _, text := range seen {
		for i := range 4 {
			assert.NotContains(t, text, address(i))
		}
		assert.NotContains(t, text, seed)
	}
}

func address(i int) string { return fmt.Sprintf("203.0.113.%d", 7+i) }

// clients of ten requests: the first has four of them.
func clients() plog.Logs {
	ld := plog.NewLogs()
	records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for i, n := range []int{4, 3, 2, 1} {
		for range n {
			lr := records.AppendEmpty()
			lr.SetTimestamp(pcommon.NewTimestampFromTime(time.Now()))
			lr.Attributes().PutStr("client.address", address(i))
			lr.Attributes().PutStr("http.route", "/")
		}
	}
	records.AppendEmpty().Attributes().PutStr("http.route", "/nobody") // counts for no rule
	return ld
}

func pseudonym(text string) string {
	mac := hmac.New(sha256.New, []byte(seed))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// durable is what makes the one collector of an example store all it can, in dir.
func durable(dir string) string {
	return fmt.Sprintf(`
receivers: {trend: {storage: file_storage}}
processors: {topk: {storage: file_storage}}
exporters: {topk: {storage: file_storage}}
extensions:
  file_storage: {directory: %q}
service: {extensions: [file_storage]}
`, dir)
}

// stored is the content of all files below dir.
func stored(t *testing.T, dir string) (contents []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, files, 3, "one of each component")
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		contents = append(contents, string(content))
	}
	return contents
}
