package e2e

import (
	"fmt"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
)

// K7 for Prometheus: keys that were invalid UTF-8 can be scraped, from the API and from a metrics pipeline, and both say
// what the list says.
func TestPrometheusScrapesWhatTheListSays(t *testing.T) {
	rules := "      - name: names\n        key: log.attributes[\"name\"]\n"
	config := strings.Replace(singleConfig("event", "logs", rules), "exporters:\n", "exporters:\n  prometheus:\n    endpoint: <prometheus>\n", 1) +
		"    metrics:\n      receivers: [trend]\n      exporters: [prometheus]\n"
	ports := collector.NewPorts()
	c := collector.Start(t, config, ports)
	awaitGateway(t, c)
	records, err := parseRecords(`{"t": "12:00:00", "n": 3, "a": {"name": {"text": "61ff62"}}}
{"t": "12:00:00", "n": 2, "a": {"name": "quote \" and\nline"}}
{"t": "12:00:00", "a": {"name": ""}}
`)
	require.NoError(t, err)
	require.NoError(t, collector.NewSender(t, ports.Address(t, "otlp")).Logs(t.Context(), logsOf(records)))
	c.AwaitTotal(t, 6, "window", "5m")

	want := map[string]float64{"a\uFFFDb": 3, "quote \" and\nline": 2, "": 1}
	for _, endpoint := range []string{"api", "prometheus"} {
		var got map[string]float64
		collector.Await(t, func() bool {
			got = scrape(t, ports.Address(t, endpoint))
			return assert.ObjectsAreEqual(want, got)
		}, func() string { return fmt.Sprintf("%s shows %v", endpoint, got) })
	}
}

// scrape the estimates of the list of five minutes by key.
func scrape(t *testing.T, address string) map[string]float64 {
	t.Helper()
	_, body := collector.Get(t, address, "/metrics")
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	require.NoError(t, err, body)
	keys, found := make(map[string]string), make(map[string]float64)
	for _, m := range families["topk_key_info"].GetMetric() {
		keys[label(m, "window")+label(m, "rank")] = label(m, "key")
	}
	for _, m := range families["topk_estimate"].GetMetric() {
		if key, ok := keys[label(m, "window")+label(m, "rank")]; ok && label(m, "window") == "5m" {
			found[key] = m.GetGauge().GetValue()
		}
	}
	return found
}

func label(m *dto.Metric, name string) string {
	for _, pair := range m.GetLabel() {
		if pair.GetName() == name {
			return pair.GetValue()
		}
	}
	return ""
}
