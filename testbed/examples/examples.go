// Package examples loads the configurations below examples/ for tests, with free ports in the place of those they name.
package examples

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.yaml.in/yaml/v3"

	"github.com/otel-topk/collector/testbed/collector"
)

// addresses are what a test sets, where a configuration has the component: to placeholders of collector.Ports.
var addresses = []struct{ of, key, value string }{
	{"receivers::otlp::protocols::grpc", "endpoint", "<otlp>"},
	{"receivers::otlp::protocols::http", "endpoint", "<otlp_http>"},
	{"receivers::events", "endpoint", "<events>"},
	{"receivers::trend", "protocols::grpc::endpoint", "<states>"},
	{"exporters::topk", "endpoint", "<api>"},
	{"exporters::prometheus", "endpoint", "<prometheus>"},
	{"extensions::health_check", "endpoint", "<health>"},
	{"processors::topk::partition::lists", "endpoint", "http://<api>"},
}

// Path of a file of the repository.
func Path(t testing.TB, name string) string {
	return filepath.Join(filepath.Dir(collector.Binary(t, "otelcol-topk")), "..", name)
}

// Read a file of the repository.
func Read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(Path(t, name))
	require.NoError(t, err)
	return string(text)
}

// Load reads a configuration for collector.Start. Further ones, of YAML text, are merged into it. Where the folder of storage, or
// the archive, is left to the environment, each that is loaded has one of its own.
func Load(t testing.TB, name string, over ...string) string {
	t.Helper()
	conf := parse(t, strings.ReplaceAll(Read(t, name), "${file:", "${file:"+Path(t, ".")+"/"))
	for _, text := range over {
		require.NoError(t, conf.Merge(parse(t, text)))
	}
	for _, a := range addresses {
		if conf.IsSet(a.of) {
			set(t, conf, a.of+"::"+a.key, a.value)
		}
	}
	if conf.IsSet("processors::topk") {
		set(t, conf, "processors::topk::gateways", gateways(conf))
	}
	for _, kafka := range []string{"receivers::kafka", "exporters::kafka"} {
		if conf.IsSet(kafka) {
			set(t, conf, kafka+"::brokers", []any{"<kafka>"})
		}
	}
	if conf.IsSet("exporters::load_balancing") {
		set(t, conf, "exporters::load_balancing::resolver::static::hostnames", []any{"<shard_a>", "<shard_b>"})
	}
	if conf.IsSet("exporters::topk::redis") {
		set(t, conf, "exporters::topk::redis::endpoint", "<redis>")
	}
	if conf.IsSet("receivers::trend::gateways") {
		set(t, conf, "receivers::trend::gateways", []any{map[string]any{"endpoint": "<above>"}})
	}
	if dir, _ := conf.Get("extensions::file_storage::directory").(string); strings.Contains(dir, "${env:") {
		dir := t.TempDir()
		for _, key := range []string{"file_storage::directory", "file_storage::compaction::directory", "storage_check::directory"} {
			set(t, conf, "extensions::"+key, dir)
		}
	}
	if archive, _ := conf.Get("exporters::parquet::archive").(string); strings.Contains(archive, "${env:") {
		dir := t.TempDir()
		set(t, conf, "exporters::parquet::archive", "file://"+dir)
		set(t, conf, "exporters::topk::recount::archive", "file://"+dir)
	}
	if dir, _ := conf.Get("exporters::parquet::directory").(string); strings.Contains(dir, "${env:") {
		set(t, conf, "exporters::parquet::directory", t.TempDir())
	}
	merged, err := yaml.Marshal(conf.ToStringMap())
	require.NoError(t, err)
	return string(merged)
}

// gateways of the processor, the default one if nothing is said of them, all at one address.
func gateways(conf *confmap.Conf) []any {
	list, said := conf.Get("processors::topk::gateways").([]any)
	if !said {
		list = []any{map[string]any{}}
	}
	for _, gateway := range list {
		gateway.(map[string]any)["endpoint"] = "<states>"
	}
	return list
}

func set(t testing.TB, conf *confmap.Conf, key string, value any) {
	t.Helper()
	require.NoError(t, conf.Merge(confmap.NewFromStringMap(map[string]any{key: value})))
}

func parse(t testing.TB, text string) *confmap.Conf {
	t.Helper()
	var content map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(text), &content))
	return confmap.NewFromStringMap(content)
}
