package topkexporter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otel-topk/collector/internal/rule"
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

func TestRecountDefaults(t *testing.T) {
	config, err := load(t, map[string]any{"recount": recountSettings()})
	require.NoError(t, err)
	r := config.Recount.Get()
	assert.Equal(t, "file:///var/lib/archive", r.Archive)
	assert.Equal(t, rule.NewDefaultConfig().MaxKeyBytes, r.Rules[0].MaxKeyBytes, "rules have their own defaults")
	r.Rules, r.Archive, r.Seed = nil, "", ""
	assert.Equal(t, RecountConfig{
		MemoryLimit: 512 << 20, MaxRange: 24 * time.Hour, MaxJobs: 1, MaxWaiting: 16, KeepJobs: 1000, Grace: 15 * time.Minute, KeepTables: 17520 * time.Hour,
	}, *r)
	config, err = load(t, nil)
	require.NoError(t, err)
	assert.False(t, config.Recount.HasValue(), "off unless it is there")
}

func TestValidateNamesTheKeyOfARecountAndWhatIsAllowed(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit map[string]any
		says []string
	}{
		{"a bucket", map[string]any{"archive": "s3://logs?region=eu-west-1"}, nil},
		{"the bounds", map[string]any{"memory_limit": 16 << 20, "max_range": "8760h", "max_jobs": 64, "max_waiting": 0, "keep_jobs": 100_000, "grace": 0, "keep_tables": "24h"}, nil},
		{"nothing at all", map[string]any{"archive": "", "rules": nil}, []string{
			"recount.archive: is required: file:///folder, or a bucket as s3://name, gs://name or azblob://name",
			"recount.rules: none; at least one is needed, as the processors have it",
		}},
		{"an archive that is none", map[string]any{"archive": "ftp://logs"}, []string{`recount.archive: scheme "ftp" is not one of file, s3, gs, azblob`}},
		{"beyond the bounds", map[string]any{
			"memory_limit": 16<<20 - 1, "max_range": "59m", "max_jobs": 65, "max_waiting": -1, "keep_jobs": 0, "grace": "25h", "keep_tables": "1h",
		}, []string{
			"recount.memory_limit: 16777215 is not allowed; allowed: 16777216 bytes or more",
			"recount.max_range: 59m0s is out of range; allowed: 1h to 8760h", "recount.max_jobs: 65 is out of range; allowed: 1 to 64",
			"recount.max_waiting: -1 is out of range; allowed: 0 to 10000", "recount.keep_jobs: 0 is out of range; allowed: 1 to 100000",
			"recount.grace: 25h is out of range; allowed: 0h to 24h", "recount.keep_tables: 1h is out of range; allowed: 24h to 876000h",
		}},
		{"broken rules", map[string]any{"rules": []any{
			map[string]any{"name": "a", "key": `log.attributes["x"]`, "k": 0}, map[string]any{"name": "a"},
		}}, []string{
			"recount.rules[0].k: 0 is not in 1..500", "recount.rules[1].key: is required", `recount.rules[1].name: "a" is the name of recount.rules[0] too`,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			settings := recountSettings()
			for key, value := range tt.edit {
				settings[key] = value
			}
			_, err := load(t, map[string]any{"recount": settings})
			if tt.says == nil {
				require.NoError(t, err)
			}
			for _, text := range tt.says {
				assert.ErrorContains(t, err, text)
			}
		})
	}
}

func TestAMisspelledSettingOfRecountsIsRefused(t *testing.T) {
	settings := recountSettings()
	settings["archives"] = "x"
	err := confmap.NewFromStringMap(map[string]any{"recount": settings}).Unmarshal(createDefaultConfig())
	assert.ErrorContains(t, err, "archives")
}

func TestTheNameOfAFileIsNoListOfRules(t *testing.T) {
	settings := recountSettings()
	settings["rules"] = "rules.yaml"
	err := confmap.NewFromStringMap(map[string]any{"recount": settings}).Unmarshal(createDefaultConfig())
	assert.ErrorContains(t, err, `rules: "rules.yaml" is no list; the rules of a file are ${file:rules.yaml}`)
}
