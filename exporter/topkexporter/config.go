package topkexporter

import (
	"errors"
	"fmt"
	"net"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/confignet"
)

const (
	defaultEndpoint = "localhost:7070"
	defaultMaxLists = 10_000
	mostLists       = 1_000_000
)

// Config of the topk exporter.
type Config struct {
	// ServerConfig is the collector's HTTP server: endpoint (default localhost:7070), tls, auth, cors, response_headers,
	// timeouts and the rest. Defaults that differ from the collector's: read_timeout 10s, read_header_timeout 10s,
	// max_request_body_size 65536 bytes (no call has a body). A timeout of zero means none.
	ServerConfig confighttp.ServerConfig `mapstructure:",squash"`

	// MaxLists is how many lists (one for each rule, window and group) are kept, 1 to 1,000,000; default 10,000. A new
	// list beyond it takes the place of one that was not published for five minutes; where there is none, it is refused.
	MaxLists int `mapstructure:"max_lists"`
}

func createDefaultConfig() component.Config {
	server := confighttp.NewDefaultServerConfig()
	server.NetAddr.Endpoint = defaultEndpoint
	server.ReadTimeout = 10 * time.Second
	server.ReadHeaderTimeout = 10 * time.Second
	server.MaxRequestBodySize = 64 << 10
	return &Config{ServerConfig: server, MaxLists: defaultMaxLists}
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
	return errors.Join(problems...)
}
