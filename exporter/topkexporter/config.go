package topkexporter

import (
	"errors"
	"fmt"
	"net"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/confignet"
	"go.opentelemetry.io/collector/config/configoptional"

	"github.com/otel-topk/collector/exporter/topkexporter/internal/shared"
	"github.com/otel-topk/collector/internal/window"
)

const (
	defaultEndpoint = "localhost:7070"
	defaultMaxLists = 10_000
	mostLists       = 1_000_000
	defaultKeep     = 90 * 24 * time.Hour
	longestKeep     = 365 * 24 * time.Hour
	leastHistory    = 1 << 20 // bytes

	// Without a storage, history is short and small.
	keepInMemory    = 24 * time.Hour
	historyStored   = 4 << 30   // default of max_history_size, bytes
	historyInMemory = 128 << 20 // the same without a storage
)

// Config of the topk exporter.
type Config struct {
	// ServerConfig is the collector's HTTP server: endpoint (default localhost:7070), tls, auth, cors, response_headers,
	// timeouts and the rest. Defaults that differ from the collector's: read_timeout 10s, read_header_timeout 10s,
	// max_request_body_size 65536 bytes (only recounts have a body). A timeout of zero means none.
	ServerConfig confighttp.ServerConfig `mapstructure:",squash"`

	// MaxLists is how many lists (one for each rule, window and group) are kept, 1 to 1,000,000; default 10,000. A new
	// list beyond it takes the place of one that was not published for five minutes; where there is none, it is refused.
	MaxLists int `mapstructure:"max_lists"`

	// Storage is the storage extension in which the newest lists, the history, recounts and audits outlast the process. Default
	// none: they are lost with it, and history goes back 24h at most.
	Storage *component.ID `mapstructure:"storage"`

	// Keep is how long the hours of history are kept, counted by the newest of their rule, in whole hours from 1h to 8760h;
	// without a storage 24h at most, whatever is written here. Default 2160h, 90 days; 0 is refused.
	Keep time.Duration `mapstructure:"keep"`

	// MaxHistorySize bounds what history takes, in bytes as they are stored, 1048576 or more; beyond it the oldest hours go.
	// Default 0: 4294967296 (4 GiB) with a storage, 134217728 (128 MiB) without.
	MaxHistorySize int64 `mapstructure:"max_history_size"`

	// Recount turns on exact counts of archived records. Default none: there are none.
	Recount configoptional.Optional[RecountConfig] `mapstructure:"recount"`

	// Redis shares lists with other exporters and programs. Default none.
	Redis configoptional.Optional[shared.Config] `mapstructure:"redis"`
}

func createDefaultConfig() component.Config {
	server := confighttp.NewDefaultServerConfig()
	server.NetAddr.Endpoint = defaultEndpoint
	server.ReadTimeout = 10 * time.Second
	server.ReadHeaderTimeout = 10 * time.Second
	server.MaxRequestBodySize = 64 << 10
	return &Config{
		ServerConfig: server, MaxLists: defaultMaxLists, Keep: defaultKeep, Recount: configoptional.Default(newDefaultRecount()),
		Redis: configoptional.Default(shared.NewDefaultConfig()),
	}
}

// Validate returns all problems, each by its YAML key.
func (c *Config) Validate() error {
	var problems []error
	refuse := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	server := &c.ServerConfig
	switch server.NetAddr.Transport {
	case confignet.TransportTypeTCP, confignet.TransportTypeTCP4, confignet.TransportTypeTCP6:
		if _, _, err := net.SplitHostPort(server.NetAddr.Endpoint); err != nil {
			refuse("endpoint: %q is no host:port such as %s", server.NetAddr.Endpoint, defaultEndpoint)
		}
	case confignet.TransportTypeUnix:
		if server.NetAddr.Endpoint == "" {
			refuse("endpoint: empty; with transport unix it is the path of the socket")
		}
	default:
		refuse("transport: %q is not supported; allowed: tcp, tcp4, tcp6, unix", server.NetAddr.Transport)
	}
	for _, limit := range []struct {
		key   string
		value time.Duration
	}{
		{"read_timeout", server.ReadTimeout},
		{"read_header_timeout", server.ReadHeaderTimeout},
		{"write_timeout", server.WriteTimeout},
	} {
		if limit.value < 0 {
			refuse("%s: %s is negative; 0 means no limit", limit.key, limit.value)
		}
	}
	if server.MaxRequestBodySize < 0 {
		refuse("max_request_body_size: %d is negative", server.MaxRequestBodySize)
	}
	if c.MaxLists < 1 || c.MaxLists > mostLists {
		refuse("max_lists: %d is out of range; allowed: 1 to %d", c.MaxLists, mostLists)
	}
	if c.Keep < time.Hour || c.Keep > longestKeep || c.Keep%time.Hour != 0 {
		refuse("keep: %s is not allowed; allowed: whole hours from 1h to %s", c.Keep, window.Name(longestKeep))
	}
	if c.MaxHistorySize != 0 && c.MaxHistorySize < leastHistory {
		refuse("max_history_size: %d is not allowed; allowed: 0, which is the default, or %d bytes or more", c.MaxHistorySize, leastHistory)
	}
	if c.Recount.HasValue() {
		problems = append(problems, c.Recount.Get().problems()...)
	}
	if c.Redis.HasValue() {
		for _, err := range c.Redis.Get().Problems() {
			refuse("redis.%w", err)
		}
	}
	return errors.Join(problems...)
}

// longestSpan is the longest span of the past that may be asked for.
func (c *Config) longestSpan() time.Duration {
	if c.Storage == nil {
		return min(c.Keep, keepInMemory)
	}
	return c.Keep
}

// historyBounds are how long hours are kept and how many bytes they may take; durable says whether there is a storage.
func (c *Config) historyBounds(durable bool) (keep time.Duration, size int64) {
	keep, size = c.Keep, c.MaxHistorySize
	switch {
	case durable && size == 0:
		size = historyStored
	case !durable && (size == 0 || c.Storage != nil && size > historyInMemory):
		size = historyInMemory
	}
	if !durable {
		keep = min(keep, keepInMemory)
	}
	return keep, size
}
