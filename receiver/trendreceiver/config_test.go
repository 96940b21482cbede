package trendreceiver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
	"go.yaml.in/yaml/v3"

	"github.com/otel-topk/collector/internal/board"
	"github.com/otel-topk/collector/internal/uplink"
)

func TestNothingNeedsToBeSet(t *testing.T) {
	cfg := load(t, nil)
	require.NoError(t, confmap.Validate(cfg))
	assert.Equal(t, "localhost:7071", cfg.Protocols.GRPC.Get().NetAddr.Endpoint)
	assert.Equal(t, "localhost:7072", cfg.Protocols.HTTP.Get().ServerConfig.NetAddr.Endpoint)
	assert.Equal(t, []time.Duration{5 * time.Minute, time.Hour, 24 * time.Hour}, cfg.Windows)
}

func TestAConnectionIsLimitedUnlessSetOtherwise(t *testing.T) {
	for name, protocols := range map[string]any{
		"nothing written":  nil,
		"an endpoint only": map[string]any{"grpc": map[string]any{"endpoint": "localhost:1"}, "http": map[string]any{"endpoint": "localhost:2"}},
	} {
		t.Run(name, func(t *testing.T) {
			written := map[string]any{}
			if protocols != nil {
				written["protocols"] = protocols
			}
			grpc, http := load(t, written).Protocols.GRPC.Get(), load(t, written).Protocols.HTTP.Get().ServerConfig
			assert.EqualValues(t, 16, grpc.MaxConcurrentStreams)
			assert.Equal(t, 17, grpc.MaxRecvMsgSizeMiB)
			assert.Equal(t, 10*time.Second, grpc.Keepalive.Get().EnforcementPolicy.Get().MinTime)
			assert.Equal(t, 10*time.Minute, grpc.Keepalive.Get().ServerParameters.Get().MaxConnectionIdle)
			assert.EqualValues(t, 17<<20, http.MaxRequestBodySize)
			assert.Equal(t, time.Minute, http.ReadTimeout)
		})
	}
	set := load(t, map[string]any{"protocols": map[string]any{"grpc": map[string]any{"max_concurrent_streams": 2}}})
	assert.EqualValues(t, 2, set.Protocols.GRPC.Get().MaxConcurrentStreams)
}

func TestEveryKeyIsRead(t *testing.T) {
	conf, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	require.NoError(t, err)
	cfg := load(t, conf.ToStringMap())
	require.NoError(t, confmap.Validate(cfg))

	want := createDefaultConfig().(*Config)
	want.Protocols = defaultProtocols()
	want.Protocols.GRPC.GetOrInsertDefault().NetAddr.Endpoint = "0.0.0.0:7071"
	want.Clock = clockEvent
	want.Windows = []time.Duration{10 * time.Minute}
	want.PublishInterval = time.Second
	want.Retain = time.Hour
	storage := component.MustNewIDWithName("file_storage", "gateway")
	want.Storage = &storage
	want.Keep = KeepConfig{Minutes: 24 * time.Hour, Hours: 8760 * time.Hour}
	want.PointQueries = board.PointQueriesAll
	want.GroupMetrics = true
	want.MaxRules = 1
	want.MaxGroups = 2
	want.MaxShards = 3
	want.MaxStatesSize = 1 << 20
	want.MaxListsSize = 2 << 20
	want.MaxPartsSize = 3 << 20
	world := uplink.NewDefaultGateway()
	world.ClientConfig.Endpoint, world.ClientConfig.TLS.Insecure, world.Rules = "world:7071", false, []string{"tenants"}
	want.Gateways = []uplink.Gateway{world}
	want.Shard, want.ReplicaSet, want.Pending = "eu", "west", 4<<20
	assert.Equal(t, want, cfg)
	assert.False(t, cfg.Protocols.HTTP.HasValue(), "only the written protocols are on")
}

func TestAllProblemsAreToldAtOnceByTheirKeys(t *testing.T) {
	cfg := load(t, map[string]any{
		"clock":            "moon",
		"windows":          []any{"90s", "-5m", "87600h", "0s", "5m", "5m"},
		"publish_interval": "0s",
		"retain":           "87600h",
		"keep":             map[string]any{"minutes": "24h30s", "hours": "23h30m"},
		"point_queries":    "some",
		"max_rules":        0,
		"max_groups":       -1,
		"max_shards":       1_000_000,
		"max_states_size":  0,
		"max_lists_size":   -1,
		"max_parts_size":   4096,
		"protocols":        nil,
		"pending":          1,
		"shard":            strings.Repeat("s", 257),
		"replica_set":      strings.Repeat("r", 129),
		"gateways":         []any{map[string]any{"endpoint": "", "rules": []any{}}},
	})
	err := confmap.Validate(cfg)
	for _, want := range []string{
		"protocols: must specify at least one protocol",
		"pending: 1 bytes, allowed is 1048576 or more",
		"shard: 257 bytes, allowed are 256",
		"replica_set: 129 bytes, allowed are 128",
		"gateways[0].endpoint: ",
		"gateways[0].rules: empty",
		`clock: "moon", allowed are ["wall" "event"]`,
		"windows[0]: 1m30s, a multiple of 1m0s from 1m0s to 24h0m0s is allowed",
		"windows[1]: -5m0s, ",
		"windows[2]: 87600h0m0s, ",
		"windows[3]: 0s, ",
		"windows[5]: 5m0s, the same as windows[4]",
		"publish_interval: 0s, allowed is 100ms to 1m0s",
		"retain: 87600h0m0s, allowed is 1m0s to 24h0m0s",
		"keep.minutes: 24h0m30s, allowed is 5m0s to 24h0m0s",
		"keep.minutes: 24h0m30s, only whole minutes",
		"keep.hours: 23h30m0s, allowed is 24h0m0s to 8760h0m0s",
		"keep.hours: 23h30m0s, only whole hours",
		`point_queries: "some", allowed are ["global" "all" "off"]`,
		"max_rules: 0, allowed is 1 to 10000",
		"max_groups: -1, allowed is 1 to 100000",
		"max_shards: 1000000, allowed is 1 to 100000",
		"max_states_size: 0 bytes, allowed is 1048576 or more",
		"max_lists_size: -1 bytes, allowed is 1048576 or more",
		"max_parts_size: 4096 bytes, allowed is 1048576 or more",
	} {
		assert.ErrorContains(t, err, want)
	}
}

func TestNoWindowsAreRefused(t *testing.T) {
	cfg := load(t, map[string]any{"windows": []any{}})
	assert.ErrorContains(t, confmap.Validate(cfg), "windows: empty")
}

func TestAnUnknownKeyIsRefused(t *testing.T) {
	assert.ErrorContains(t, confmap.NewFromStringMap(map[string]any{"window": "5m"}).Unmarshal(createDefaultConfig()), "window")
}

func TestEverySnippetOfTheReadmeIsValid(t *testing.T) {
	readme := read(t, "README.md")
	snippets := strings.Split(readme, "```yaml\n")[1:]
	require.Len(t, snippets, 4)
	for _, s := range snippets {
		text, _, ok := strings.Cut(s, "```")
		require.True(t, ok)
		var doc struct{ Receivers map[string]map[string]any }
		require.NoError(t, yaml.Unmarshal([]byte(text), &doc))
		require.Contains(t, doc.Receivers, "trend")
		require.NoError(t, confmap.Validate(load(t, doc.Receivers["trend"])), text)
	}
}

func TestTheReadmeSpeaksOfEveryKey(t *testing.T) {
	readme := read(t, "README.md")
	conf := confmap.New()
	require.NoError(t, conf.Marshal(createDefaultConfig()))
	for _, key := range conf.AllKeys() {
		key = strings.ReplaceAll(key, confmap.KeyDelimiter, ".")
		if strings.HasPrefix(key, "protocols.") {
			key = "protocols"
		}
		assert.Contains(t, readme, "\n| `"+key+"` |")
	}
}

func load(t *testing.T, written map[string]any) *Config {
	conf := confmap.NewFromStringMap(map[string]any{"trend": written})
	sub, err := conf.Sub("trend")
	require.NoError(t, err)
	cfg := createDefaultConfig()
	require.NoError(t, sub.Unmarshal(&cfg))
	return cfg.(*Config)
}

func read(t *testing.T, path string) string {
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

func TestWhatGoesUpNeedsAStorageOrAReplicaSet(t *testing.T) {
	gateways := []any{map[string]any{"endpoint": "localhost:1"}}
	for name, tt := range map[string]struct {
		written map[string]any
		want    string
	}{
		"neither":             {map[string]any{"gateways": gateways}, "storage: none, with gateways it is needed"},
		"a replica of nobody": {map[string]any{"replica_set": "west"}, `replica_set: "west", and gateways is empty`},
	} {
		t.Run(name, func(t *testing.T) {
			assert.ErrorContains(t, confmap.Validate(load(t, tt.written)), tt.want)
		})
	}
	for _, key := range []string{"storage", "replica_set"} {
		require.NoError(t, confmap.Validate(load(t, map[string]any{"gateways": gateways, key: "some"})))
	}
}
