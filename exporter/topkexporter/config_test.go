package topkexporter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
)

// load is the configuration of settings, validated as a collector does.
func load(t testing.TB, settings map[string]any) (*Config, error) {
	config := createDefaultConfig().(*Config)
	require.NoError(t, confmap.NewFromStringMap(settings).Unmarshal(config))
	return config, confmap.Validate(config)
}

func TestDefaultConfig(t *testing.T) {
	config, err := load(t, nil)
	require.NoError(t, err)
	assert.Equal(t, createDefaultConfig(), config)
	assert.Equal(t, "localhost:7070", config.ServerConfig.NetAddr.Endpoint)
	assert.Equal(t, 10*time.Second, config.ServerConfig.ReadTimeout)
	assert.Equal(t, 10*time.Second, config.ServerConfig.ReadHeaderTimeout)
	assert.Equal(t, 30*time.Second, config.ServerConfig.WriteTimeout)
	assert.Equal(t, time.Minute, config.ServerConfig.Keepalive.Get().IdleTimeout)
	assert.Equal(t, int64(65536), config.ServerConfig.MaxRequestBodySize)
	assert.Equal(t, 10_000, config.MaxLists)
	assert.Nil(t, config.Storage)
	assert.Equal(t, 2160*time.Hour, config.Keep)
	assert.Zero(t, config.MaxHistorySize)
}

func TestValidateNamesTheKeyAndWhatIsAllowed(t *testing.T) {
	for _, tt := range []struct {
		name     string
		settings map[string]any
		says     []string
	}{
		{"any interface", map[string]any{"endpoint": "0.0.0.0:7070"}, nil},
		{"IPv6", map[string]any{"endpoint": "[::1]:7070"}, nil},
		{"a socket", map[string]any{"endpoint": "/run/topk.sock", "transport": "unix"}, nil},
		{"no timeouts", map[string]any{"read_timeout": 0, "read_header_timeout": 0, "write_timeout": 0}, nil},
		{"no port", map[string]any{"endpoint": "localhost"}, []string{`endpoint: "localhost" is no host:port such as localhost:7070`}},
		{"no endpoint", map[string]any{"endpoint": ""}, []string{`endpoint: "" is no host:port such as localhost:7070`}},
		{"a socket without a path", map[string]any{"endpoint": "", "transport": "unix"}, []string{"endpoint: empty; with transport unix it is the path of the socket"}},
		{"datagrams", map[string]any{"transport": "udp"}, []string{`transport: "udp" is not supported; allowed: tcp, tcp4, tcp6, unix`}},
		{"no lists", map[string]any{"max_lists": 0}, []string{"max_lists: 0 is out of range; allowed: 1 to 1000000"}},
		{"a storage", map[string]any{"storage": "file_storage/topk", "keep": "8760h", "max_history_size": 1 << 40}, nil},
		{"an hour of history", map[string]any{"keep": "1h", "max_history_size": 1 << 20}, nil},
		{"no history", map[string]any{"keep": 0}, []string{"keep: 0s is not allowed; allowed: whole hours from 1h to 8760h"}},
		{"half an hour", map[string]any{"keep": "90m"}, []string{"keep: 1h30m0s is not allowed; allowed: whole hours from 1h to 8760h"}},
		{"more than a year", map[string]any{"keep": "8761h"}, []string{"keep: 8761h0m0s is not allowed; allowed: whole hours from 1h to 8760h"}},
		{"a tiny history", map[string]any{"max_history_size": 1<<20 - 1}, []string{"max_history_size: 1048575 is not allowed; allowed: 0, which is the default, or 1048576 bytes or more"}},
		{"all at once", map[string]any{
			"endpoint": "x", "read_timeout": "-1s", "read_header_timeout": "-2s", "write_timeout": "-3s", "max_request_body_size": -4, "max_lists": 1_000_001,
			"keep": "-1h", "max_history_size": -1,
		}, []string{
			`endpoint: "x" is no host:port such as localhost:7070`, "read_timeout: -1s is negative; 0 means no limit",
			"read_header_timeout: -2s is negative; 0 means no limit", "write_timeout: -3s is negative; 0 means no limit",
			"max_request_body_size: -4 is negative", "max_lists: 1000001 is out of range; allowed: 1 to 1000000",
			"keep: -1h0m0s is not allowed", "max_history_size: -1 is not allowed",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := load(t, tt.settings)
			if tt.says == nil {
				require.NoError(t, err)
			}
			for _, text := range tt.says {
				assert.ErrorContains(t, err, text)
			}
		})
	}
}

func TestHistoryIsBoundedByWhatThereIs(t *testing.T) {
	const day = 24 * time.Hour
	for _, tt := range []struct {
		name     string
		settings map[string]any
		durable  bool
		keep     time.Duration
		size     int64
		span     time.Duration
	}{
		{"without a storage", nil, false, day, 128 << 20, day},
		{"without a storage, and short", map[string]any{"keep": "3h"}, false, 3 * time.Hour, 128 << 20, 3 * time.Hour},
		{"without a storage, and large", map[string]any{"max_history_size": 1 << 30}, false, day, 1 << 30, day},
		{"with a storage", map[string]any{"storage": "disk"}, true, 90 * day, 4 << 30, 90 * day},
		{"with a storage, and small", map[string]any{"storage": "disk", "max_history_size": 1 << 20}, true, 90 * day, 1 << 20, 90 * day},
		{"with one that cannot be opened", map[string]any{"storage": "disk", "max_history_size": 8 << 30}, false, day, 128 << 20, 90 * day},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config, err := load(t, tt.settings)
			require.NoError(t, err)
			keep, size := config.historyBounds(tt.durable)
			assert.Equal(t, tt.keep, keep)
			assert.Equal(t, tt.size, size)
			assert.Equal(t, tt.span, config.longestSpan())
		})
	}
}

func TestUnknownSettingsAreRefused(t *testing.T) {
	err := confmap.NewFromStringMap(map[string]any{"sending_queue": nil}).Unmarshal(createDefaultConfig())
	assert.ErrorContains(t, err, "sending_queue")
}
