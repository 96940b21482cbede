package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/testbed/collector"
)

// secret is in every key and group of the test of L9, and in no name of a rule.
const secret = "secret"

// secretKeys are odd in every way that a key can be.
var secretKeys = []string{
	secret, secret + "\nover\ttwo lines", secret + "\xff\xfe", secret + strings.Repeat("x", 10_000), `{"` + secret + `": "%s %d"}`,
	secret + "\x00", "../" + secret, secret + "\u2028\u202e", `["` + secret + `","b"]`,
}

const secretRules = `
      - {name: grouped, key: 'log.attributes["key"]', group_by: 'log.attributes["key"]', max_groups: 2}
      - {name: composite, key: ['log.attributes["key"]', 'log.attributes["key"]'], max_key_bytes: 160}
      - {name: fails, key: 'log.attributes["key"][0]["deep"]'}
      - {name: hopeless, key: 'log.attributes["key"][0]', error_mode: propagate, conditions: ['log.severity_number == 24']}
      - {name: no number, key: 'log.attributes["key"]', weight: 'log.attributes["key"]'}
      - {name: hidden, key: 'Pseudonym(log.attributes["key"])'}
`

func secrets(at time.Time, severity plog.SeverityNumber) plog.Logs {
	ld := plog.NewLogs()
	records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for _, key := range secretKeys {
		lr := records.AppendEmpty()
		lr.SetTimestamp(pcommon.NewTimestampFromTime(at))
		lr.SetSeverityNumber(severity)
		lr.Attributes().PutStr("key", key)
	}
	return ld
}

// L9: whatever keys are, and whatever befalls them, no log line holds one, at any level.
func TestKeysAreInNoLogLine(t *testing.T) {
	t.Parallel()
	config := strings.NewReplacer(
		"service:\n", "service:\n  telemetry: {logs: {level: debug}}\n",
		"point_queries: all", "point_queries: all\n    max_groups: 1",
		"emit_interval: 100ms", "emit_interval: 100ms\n    seed: hush, nobody may see this",
	).Replace(singleConfig("wall", "logs", secretRules))
	ports := collector.NewPorts()
	args := storing(t, processorStores, receiverStores, exporterStores)
	c := collector.Start(t, config, ports, args...)
	awaitGateway(t, c)
	to := collector.NewPatientSender(t, ports.Address(t, "otlp"))
	require.NoError(t, to.Logs(t.Context(), secrets(time.Now(), 0)))
	require.NoError(t, to.Logs(t.Context(), secrets(time.Now().Add(-time.Hour), 0)), "late")
	require.NoError(t, to.Logs(t.Context(), secrets(time.Now().Add(time.Hour), 0)), "in the future")
	err := to.Logs(t.Context(), secrets(time.Now(), plog.SeverityNumberFatal4))
	require.ErrorContains(t, err, "hopeless", "a rule that propagates errors")
	assert.NotContains(t, err.Error(), secret)
	for _, rule := range []string{"grouped", "composite", "hidden"} {
		c.AwaitTotal(t, uint64(len(secretKeys)), "rule", rule, "window", "5m")
	}
	states := collector.NewSender(t, ports.Address(t, "states"))
	require.Error(t, states.Logs(t.Context(), secrets(time.Now(), 0)), "these are no states")
	for _, path := range []string{"/v1/count?rule=grouped&key=secret", "/v1/keys/secret/count?rule=grouped", "/secret", "/v1/trending?rule=secret", "/v1/trending?rule=grouped&group=secret"} {
		c.Get(t, path)
	}

	c.Kill()
	killed := c.Output()
	c = c.Again(t)
	c.AwaitReady(t)
	require.NoError(t, to.Logs(t.Context(), secrets(time.Now(), 0)))
	c.AwaitTotal(t, 2*uint64(len(secretKeys)), "rule", "composite", "window", "5m")
	c.Reload(t)
	c.Stop(t)
	for _, said := range []string{killed, c.Output()} {
		assert.Contains(t, said, "debug\t", "the level of the logs")
		assert.NotContains(t, said, secret)
		assert.NotContains(t, said, "hush")
	}
	for _, line := range []string{"More groups than max_groups", "A limit is reached", "An OTTL expression failed", "Records refused"} {
		assert.Contains(t, killed, line)
	}
}
