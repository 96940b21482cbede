package servers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
	"github.com/otel-topk/collector/testbed/generator"
)

// tooSmall is the example with an archive, on the event clock, and a rule whose summary is far too small.
const tooSmall = `
receivers: {trend: {clock: event}}
processors:
  topk:
    clock: event
    rules: &rules
      - {name: tiny, key: 'log.attributes["tenant.id"]', k: 10, accuracy: {residents: 16, epsilon: 0.1, delta: 0.1}}
      - {name: usual, key: 'log.attributes["tenant.id"]'}
exporters:
  parquet: {segment: {max_age: 100ms}}
  topk: {recount: {rules: *rules, grace: 0s}}
`

func TestTheAlertFiresWhereListsDisagreeWithTheirAudit(t *testing.T) {
	ports := collector.NewPorts()
	collector.Start(t, examples.Load(t, "examples/archive/config.yaml", tooSmall), ports)
	gen, err := generator.New(generator.Config{Seed: 1, Keys: 400, Exponent: 0.2, Regions: 1})
	require.NoError(t, err)
	to := collector.NewSender(t, ports.Address(t, "otlp"))
	start := time.Now().Add(-5 * time.Hour).Truncate(time.Hour)
	for _, minute := range []int{0, 15, 30, 45, 59, 4 * 60} {
		require.NoError(t, to.Logs(t.Context(), gen.Logs(2000, start.Add(time.Duration(minute)*time.Minute), nil)))
	}
	server := startPrometheus(t, ports.Address(t, "api"))
	var firing []map[string]string
	collector.AwaitFor(t, 2*time.Minute, func() bool {
		firing = server.series(t, `ALERTS{alertname="TopkAuditDisagrees", alertstate="firing"}`)
		return len(firing) > 0 && len(server.series(t, `topk_audit_agreement{rule="usual"} == 1`)) > 0
	}, func() string { return fmt.Sprintf("no alert, or no agreement of the usual rule: %v", firing) })
	for _, labels := range firing {
		assert.Equal(t, "tiny", labels["rule"])
	}
}
