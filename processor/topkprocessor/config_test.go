package topkprocessor

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/rule"
)

func TestDefaults(t *testing.T) {
	cfg := mustParse(t, tenants)
	assert.Equal(t, clockWall, cfg.Clock)
	assert.Equal(t, 2*time.Minute, cfg.Lateness)
	assert.Equal(t, time.Minute, cfg.Future)
	assert.Equal(t, 2*time.Second, cfg.EmitInterval)
	assert.EqualValues(t, 256<<20, cfg.Pending)
	assert.Equal(t, 2*time.Hour, cfg.Retain)
	require.Len(t, cfg.Gateways, 1)
	assert.Equal(t, "localhost:7071", cfg.Gateways[0].ClientConfig.Endpoint)
	assert.True(t, cfg.Gateways[0].ClientConfig.TLS.Insecure)

	want := rule.NewDefaultConfig()
	want.Name, want.Key = "tenants", []string{`log.attributes["tenant"]`}
	assert.Equal(t, want, cfg.Rules[0])
}

func TestEachElementOfAListStartsFromItsDefaults(t *testing.T) {
	cfg := mustParse(t, `
rules:
  - {name: a, key: log.body, k: 7}
  - {name: b, key: log.body}
gateways:
  - {endpoint: gateway:7071, timeout: 1s}
  - {endpoint: "127.0.0.1:7071"}
  - {endpoint: "[::1]:7071"}
  - {endpoint: "localhost:7071", tls: {ca_file: ca.pem}}
  - {endpoint: "dns:///localhost:7071"}
  - {endpoint: gateway:7071, tls: {insecure: true}}
  - {}
`)
	assert.Equal(t, 7, cfg.Rules[0].K)
	assert.Equal(t, 100, cfg.Rules[1].K)
	var insecure []bool
	for i := range cfg.Gateways {
		g := &cfg.Gateways[i]
		insecure = append(insecure, g.ClientConfig.TLS.Insecure)
		assert.False(t, g.QueueConfig.HasValue())
		assert.False(t, g.RetryConfig.Enabled)
	}
	assert.Equal(t, []bool{false, true, true, false, true, true, true}, insecure, "without TLS only on loopback or where asked for")
	assert.Equal(t, time.Second, cfg.Gateways[0].TimeoutConfig.Timeout)
	assert.Equal(t, 5*time.Second, cfg.Gateways[1].TimeoutConfig.Timeout)
	assert.Equal(t, "localhost:7071", cfg.Gateways[6].ClientConfig.Endpoint)
}

func TestAllProblemsAtOnceByTheirKeys(t *testing.T) {
	_, err := parse(t, `
rules:
  - {name: a, key: log.body}
  - {name: a, key: log.body, k: 0}
  - {name: c, key: 'nonsense.attributes["x"]', accuracy: {epsilon: 1}}
  - {key: log.body}
gateways:
  - {sending_queue: {queue_size: 5}}
  - {endpoint: "", retry_on_failure: {enabled: true}, timeout: 0s}
shard: `+strings.Repeat("x", 257)+`
clock: sundial
lateness: 3h
future: -1s
emit_interval: 0s
pending: 5
retain: 48h
`)
	require.Error(t, err)
	for _, want := range []string{
		`rules[1].name: "a" is the name of rules[0] too`,
		"rules[1].k:",
		"rules[2].key[0]:",
		"rules[2].accuracy.epsilon:",
		"rules[3].name:",
		"gateways[0].sending_queue: not allowed: the state is the queue",
		"gateways[1].endpoint:",
		"gateways[1].retry_on_failure: not allowed",
		"gateways[1].timeout: 0s, more than 0s",
		"shard: 257 bytes, allowed are 256",
		`clock: "sundial", allowed is "wall" or "event"`,
		"lateness: 3h0m0s, allowed is 0s to 2h0m0s",
		"future: -1s, allowed is 0s to 2h0m0s",
		"emit_interval: 0s, allowed is 100ms to 30s",
		"pending: 5, allowed is 1048576 bytes or more",
		"retain: 48h0m0s, allowed is 1m0s to 24h0m0s",
	} {
		assert.ErrorContains(t, err, want)
	}
	assert.NotContains(t, err.Error(), "rules[0].")
}

func TestFinalStatesMustHaveTimeToGo(t *testing.T) {
	_, err := parse(t, tenants+"lateness: 2h\n")
	assert.ErrorContains(t, err, "retain: 2h0m0s, with lateness 2h0m0s at least 2h1m0s is needed, here and at every gateway")
	mustParse(t, tenants+"lateness: 2h\nretain: 121m\n")
	mustParse(t, tenants+"clock: event\nretain: 1m\n")
}

func TestNoRulesNoGateways(t *testing.T) {
	_, err := parse(t, "gateways: []\n")
	assert.ErrorContains(t, err, "rules: 0, allowed is 1 to 1000")
	assert.ErrorContains(t, err, "gateways: none")
}

func TestUnknownKeysAreRefused(t *testing.T) {
	for _, yaml := range []string{
		tenants + "latness: 1m\n",
		tenants + "    grup_by: log.body\n",
		tenants + "gateways:\n  - endpont: localhost:1\n",
	} {
		_, err := parse(t, yaml)
		assert.ErrorContains(t, err, "invalid keys", yaml)
	}
}

func TestSeedIsNotPrinted(t *testing.T) {
	cfg := mustParse(t, tenants+"seed: hush\n")
	text, err := cfg.Seed.MarshalText()
	require.NoError(t, err)
	assert.NotContains(t, string(text), "hush")
	assert.NotZero(t, rule.SeedOf(string(cfg.Seed)))
	assert.Zero(t, rule.SeedOf(string(mustParse(t, tenants).Seed)))
}
