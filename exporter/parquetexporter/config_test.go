package parquetexporter

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
)

func TestDefaultConfig(t *testing.T) {
	config, err := load(t, map[string]any{"archive": "file:///var/lib/otelcol/archive", "directory": "/var/lib/otelcol/segments"})
	require.NoError(t, err)
	assert.Equal(t, "/var/lib/otelcol/segments", config.Directory)
	assert.Empty(t, config.Shard)
	assert.Empty(t, config.Columns)
	assert.True(t, config.Fsync)
	assert.EqualValues(t, 268_435_456, config.Segment.MaxSize)
	assert.Equal(t, 5*time.Minute, config.Segment.MaxAge)
	assert.EqualValues(t, 17_179_869_184, config.MaxPending)
	assert.Equal(t, 2160*time.Hour, config.Keep)
	assert.Equal(t, 10*time.Minute, config.Timeout)
	assert.Equal(t, time.Second, config.Retry.InitialInterval)
	assert.Equal(t, time.Minute, config.Retry.MaxInterval)
	require.NoError(t, componenttest.CheckConfigStruct(createDefaultConfig()))
}

func TestValidateNamesTheKeyAndWhatIsAllowed(t *testing.T) {
	for _, tt := range []struct {
		name     string
		settings map[string]any
		says     []string
	}{
		{"a bucket", map[string]any{"archive": "s3://records?region=eu-west-1&endpoint=http://localhost:7480&use_path_style=true"}, nil},
		{"all attributes in columns", map[string]any{"columns": []any{`log.attributes["tenant.id"]`, `span.attributes["http.route"]`, `resource.attributes["cloud.region"]`, `scope.attributes["a"]`}}, nil},
		{"the shortest and smallest", map[string]any{
			"segment": map[string]any{"max_size": 4096, "max_age": "10ms"}, "max_pending": 4096, "keep": "1h", "timeout": "1s",
			"retry": map[string]any{"initial_interval": "10ms", "max_interval": "10ms"},
		}, nil},
		{"no archive", map[string]any{"archive": ""}, []string{"archive: none; it is where the files go, as file:///"}},
		{"an archive that is none", map[string]any{"archive": "ftp://x"}, []string{"archive: "}},
		{"no directory", map[string]any{"directory": ""}, []string{"directory: none; it is where requests lie until they are archived"}},
		{"a directory that moves with the start", map[string]any{"directory": "segments"}, []string{`directory: "segments" depends on where the process starts, allowed is an absolute path, as /var`}},
		{"the archive's folder", map[string]any{"directory": "/archive/."}, []string{"directory: /archive/. and archive: /archive, allowed are folders of which neither is in the other"}},
		{"a folder of the archive", map[string]any{"directory": "/archive/segments"}, []string{"directory: /archive/segments and archive: /archive, allowed"}},
		{"a folder around the archive", map[string]any{"directory": "/"}, []string{"directory: / and archive: /archive, allowed"}},
		{"a folder named like the archive's", map[string]any{"directory": "/archive-segments"}, nil},
		{"a folder and a bucket", map[string]any{"directory": "/archive", "archive": "s3://archive?region=eu-west-1"}, nil},
		{"a path that is none", map[string]any{"columns": []any{"log.body", `log.attributes["a"]`, "tenant"}}, []string{"columns[0]: ", "columns[2]: "}},
		{"the same column twice", map[string]any{"columns": []any{`log.attributes["a"]`, `log.attributes["a"]`}}, []string{"columns[1]: "}},
		{"nothing is kept", map[string]any{"keep": 0}, []string{"keep: 0s, allowed are whole hours from 1h to 876000h"}},
		{"half an hour", map[string]any{"keep": "90m"}, []string{"keep: 1h30m0s, allowed are whole hours from 1h to 876000h"}},
		{"less pending than a segment", map[string]any{"max_pending": 1 << 20}, []string{"max_pending: 1048576, allowed is segment.max_size (268435456 bytes) or more"}},
		{"a queue", map[string]any{"sending_queue": map[string]any{"enabled": true}}, []string{"sending_queue: not allowed: the segments are the queue"}},
		{"retries", map[string]any{"retry_on_failure": nil}, []string{"retry_on_failure: not allowed: what is refused is for its sender to send again"}},
		{"what is unknown", map[string]any{"flush_interval": "1s"}, []string{"flush_interval"}},
		{"all at once", map[string]any{
			"archive": "", "directory": "", "shard": strings.Repeat("x", 257), "columns": []any{""}, "segment": map[string]any{"max_size": 0, "max_age": "25h"},
			"max_pending": -1, "keep": "876001h", "timeout": "0s", "retry": map[string]any{"initial_interval": "0s", "max_interval": "2h"},
		}, []string{
			"archive: none", "directory: none", "shard: 257 bytes, allowed are 256", "columns[0]: ", "segment.max_size: 0, allowed is 4096 bytes or more",
			"segment.max_age: 25h0m0s, allowed is 10ms to 24h0m0s", "max_pending: -1, allowed", "keep: 876001h0m0s, allowed", "timeout: 0s, allowed is 1s to 24h0m0s",
			"retry.initial_interval: 0s, allowed is 10ms to 1h0m0s", "retry.max_interval: 2h0m0s, allowed is 10ms to 1h0m0s",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			settings := map[string]any{"archive": "file:///archive", "directory": "/segments"}
			for key, value := range tt.settings {
				settings[key] = value
			}
			_, err := load(t, settings)
			if tt.says == nil {
				require.NoError(t, err)
			}
			for _, text := range tt.says {
				assert.ErrorContains(t, err, text)
			}
		})
	}
}
