package e2e

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otel-topk/collector/testbed/collector"
)

// refused is the configuration of the list of mistakes, and of T4's.
const refused = `
receivers:
  otlp:
    protocols:
      grpc:
        endpoint: <otlp>
  trend:
    windows: [5m, 90s, -1h, 10000h]
processors:
  topk:
    lateness: 876000h
    emit_interval: 0s
    gateways:
      - endpoint: <states>
        sending_queue:
          queue_size: 10
    rules:
      - name: twice
        key: log.no_such_field
      - name: twice
        key: log.attributes["a"]
        k: 0
        accuracy: {epsilon: 1}
      - name: ''
        key: []
        conditions: ['this is no OTTL']
exporters:
  nop:
  topk:
    endpoint: <api>
service:
  pipelines:
    logs:
      receivers: [otlp]
      processors: [topk]
      exporters: [nop]
    logs/lists:
      receivers: [trend]
      exporters: [topk]
`

func TestABadConfigurationIsRefusedWithAllItsProblems(t *testing.T) {
	said := collector.Refused(t, refused)
	for _, problem := range []string{
		"rules[0].key",
		"no_such_field",
		"rules[1].name",
		`"twice"`,
		"rules[1].k: 0",
		"rules[1].accuracy.epsilon: ",
		"rules[2].name",
		"rules[2].key",
		"rules[2].conditions[0]",
		"gateways[0].sending_queue",
		"lateness: 876000h0m0s",
		"emit_interval: 0s",
		"windows[1]: 1m30s",
		"windows[2]: -1h0m0s",
		"windows[3]: 10000h0m0s",
	} {
		assert.Contains(t, said, problem)
	}
	assert.NotContains(t, said, "panic")
	if t.Failed() {
		t.Log(said)
	}
}

func TestARuleWhoseSignalNoPipelineCarriesIsRefused(t *testing.T) {
	said := collector.Refused(t, otlpReceiver+`
processors:
  topk:
    rules:
      - name: spans
        key: span.name
exporters:
  nop:
service:
  pipelines:
    logs:
      receivers: [otlp]
      processors: [topk]
      exporters: [nop]
`)
	assert.Contains(t, said, "spans")
	assert.Contains(t, said, "traces")
}
