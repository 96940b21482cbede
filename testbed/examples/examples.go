// Package examples loads the configurations below examples/ for tests, with free ports in the place of those they name.
package examples

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.yaml.in/yaml/v3"

	"github.com/otel-topk/collector/testbed/collector"
)

// addresses are what a test sets, where a configuration has the component: to placeholders of collector.Ports.
var addresses = []struct {
	of, key string
	value   any
}{
	{"receivers::otlp::protocols::grpc", "endpoint", "<otlp>"},
	{"receivers::otlp::protocols::http", "endpoint", "<otlp_http>"},
	{"receivers::trend", "protocols::grpc::endpoint", "<states>"},
	{"receivers::trend", "protocols::http::endpoint", "<states_http>"},
	{"processors::topk", "gateways", []any{map[string]any{"endpoint": "<states>"}}},
	{"exporters::topk", "endpoint", "<api>"},
	{"exporters::prometheus", "endpoint", "<prometheus>"},
	{"extensions::health_check", "endpoint", "<health>"},
}

// Path of a file of the repository.
func Path(t testing.TB, name string) string {
	return filepath.Join(filepath.Dir(collector.Binary(t, "otelcol-topk")), "..", name)
}

// Load reads a configuration for collector.Start. Further ones, of YAML text, are merged into it.
func Load(t testing.TB, name string, over ...string) string {
	t.Helper()
	text, err := os.ReadFile(Path(t, name))
	require.NoError(t, err)
	conf := parse(t, string(text))
	for _, text := range over {
		require.NoError(t, conf.Merge(parse(t, text)))
	}
	for _, a := range addresses {
		if conf.IsSet(a.of) {
			require.NoError(t, conf.Merge(confmap.NewFromStringMap(map[string]any{a.of + "::" + a.key: a.value})))
		}
	}
	merged, err := yaml.Marshal(conf.ToStringMap())
	require.NoError(t, err)
	return string(merged)
}

func parse(t testing.TB, text string) *confmap.Conf {
	t.Helper()
	var content map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(text), &content))
	return confmap.NewFromStringMap(content)
}
