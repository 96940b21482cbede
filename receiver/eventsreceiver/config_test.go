package eventsreceiver

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.yaml.in/yaml/v3"
)

func load(t *testing.T, text string) *Config {
	t.Helper()
	var written map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(text), &written))
	cfg := createDefaultConfig().(*Config)
	require.NoError(t, confmap.NewFromStringMap(written).Unmarshal(cfg))
	return cfg
}

func TestNothingNeedsToBeSet(t *testing.T) {
	cfg := load(t, "")
	require.NoError(t, confmap.Validate(cfg))
	assert.Equal(t, "localhost:7073", cfg.ServerConfig.NetAddr.Endpoint)
	assert.EqualValues(t, 4<<20, cfg.ServerConfig.MaxRequestBodySize)
	assert.Equal(t, 30*time.Second, cfg.ServerConfig.ReadTimeout)
	assert.EqualValues(t, 128<<20+1024*64<<10, cfg.memoryBound())
}

func TestMemoryMustHoldOneRequestOfTheLargestSize(t *testing.T) {
	require.ErrorContains(t, confmap.Validate(load(t, "memory: 33554431")), "memory: 33554431, at least 33554432 is needed for one request")
	require.NoError(t, confmap.Validate(load(t, "memory: 33554432")))
	require.ErrorContains(t, confmap.Validate(load(t, "{memory: 33554432, compression_algorithms: [zstd]}")), "memory: 33554432, at least 58720256")
}

func TestAllProblemsAreToldAtOnceByTheirKeys(t *testing.T) {
	err := confmap.Validate(load(t, `
endpoint: nowhere
max_request_body_size: 0
time_field: ""
max_events: 0
max_event_bytes: 1
max_fields: 100000
max_connections: 0
read_timeout: 60s
`))
	for _, want := range []string{
		`endpoint: "nowhere" is no host:port such as localhost:7073`,
		"max_request_body_size: 0, more than 0 is needed",
		"time_field: empty",
		"max_events: 0, allowed is 1 to 1000000",
		"max_event_bytes: 1, allowed is 64 to 16777216",
		"max_fields: 100000, allowed is 1 to 1000",
		"max_connections: 0, allowed is 1 to 100000",
		"write_timeout: 1m0s, more than the read_timeout of 1m0s is needed",
	} {
		assert.ErrorContains(t, err, want)
	}
}

// keysOf are the keys of a configuration, those of squashed ones included.
func keysOf(c reflect.Type) (keys []string) {
	for i := range c.NumField() {
		field := c.Field(i)
		key, options, _ := strings.Cut(field.Tag.Get("mapstructure"), ",")
		switch {
		case options == "squash":
			keys = append(keys, keysOf(field.Type)...)
		case key != "":
			keys = append(keys, key)
		}
	}
	return keys
}

func TestTheReadmeSpeaksOfEveryKeyAndItsSnippetsAreValid(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, key := range keysOf(reflect.TypeFor[Config]()) {
		assert.True(t, regexp.MustCompile("\n\\|[^|]*`"+key+"`[^|]*\\|").Match(text), key)
	}
	snippets := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	require.Len(t, snippets, 2)
	for _, snippet := range snippets {
		var whole struct{ Receivers map[string]map[string]any }
		require.NoError(t, yaml.Unmarshal([]byte(snippet[1]), &whole))
		written, err := yaml.Marshal(whole.Receivers["events"])
		require.NoError(t, err)
		require.NoError(t, confmap.Validate(load(t, strings.TrimSpace(string(written)))))
	}
}

func TestTheTimeFieldMayHaveAnotherName(t *testing.T) {
	s := serve(t, func(c *Config) { c.TimeField = "ts" }, nil)
	s.post(typeJSON, `{"ts":1700000000,"event_time":5}`)
	assert.Equal(t, []string{`2023-11-14T22:13:20Z {"event_time":5}`}, s.records())
}
