package eventsreceiver

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
	defaultEndpoint   = "localhost:7073"
	defaultBodySize   = 4 << 20
	defaultTimeField  = "event_time"
	defaultMaxEvents  = 10_000
	defaultEventBytes = 64 << 10
	defaultMaxFields  = 128
	defaultMemory     = 128 << 20
	defaultConns      = 1024
	mostConns         = 100_000
	mostEvents        = 1_000_000
	mostFields        = 1000
	mostDepth         = 16 // of values in values
	leastEventBytes   = 64
	mostEventBytes    = 16 << 20
)

// Config of an events receiver.
type Config struct {
	// ServerConfig is the collector's HTTP server: endpoint (default localhost:7073), tls, auth, cors, compression_algorithms, timeouts
	// and the rest. Defaults that differ from the collector's: max_request_body_size 4194304 bytes, also of what is unpacked;
	// compression_algorithms "", gzip and deflate; read_timeout 30s, read_header_timeout 10s, write_timeout 60s. A timeout of zero means none.
	ServerConfig confighttp.ServerConfig `mapstructure:",squash"`

	// TimeField is the field of an event that says when it was. Default event_time; empty is refused.
	TimeField string `mapstructure:"time_field"`

	// MaxEvents is how many events a request may have, 1 to 1,000,000. Default 10,000; 0 is refused.
	MaxEvents int `mapstructure:"max_events"`

	// MaxEventBytes is how long the JSON of one event may be, in bytes, 64 to 16,777,216. Default 65,536; 0 is refused.
	MaxEventBytes int `mapstructure:"max_event_bytes"`

	// MaxFields is how many values one event may have, those within others included, 1 to 1,000. Default 128; 0 is refused.
	MaxFields int `mapstructure:"max_fields"`

	// Memory is how many bytes all requests without an answer may take, as computed of what they hold; at least 8 times
	// max_request_body_size, and for zstd, lz4 and snappy what unpacking takes. Default 134,217,728; 0 is refused. Requests beyond are answered 503.
	Memory int64 `mapstructure:"memory"`

	// MaxConnections is how many clients may be connected, 1 to 100,000. Default 1,024; 0 is refused. Beyond, connections are closed.
	MaxConnections int `mapstructure:"max_connections"`
}

func createDefaultConfig() component.Config {
	server := confighttp.NewDefaultServerConfig()
	server.NetAddr.Endpoint = defaultEndpoint
	server.MaxRequestBodySize = defaultBodySize
	server.ReadTimeout = 30 * time.Second
	server.ReadHeaderTimeout = 10 * time.Second
	server.WriteTimeout = 60 * time.Second // it begins with the body: the answer to one that took all of read_timeout must fit in
	server.CompressionAlgorithms = []string{"", "gzip", "deflate"}
	return &Config{
		ServerConfig: server, TimeField: defaultTimeField, MaxEvents: defaultMaxEvents, MaxEventBytes: defaultEventBytes, MaxFields: defaultMaxFields,
		Memory: defaultMemory, MaxConnections: defaultConns,
	}
}

// Validate returns all problems, each by its YAML key.
func (c *Config) Validate() error {
	var problems []error
	refuse := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	within := func(key string, n, low, high int) {
		if n < low || n > high {
			refuse("%s: %d, allowed is %d to %d", key, n, low, high)
		}
	}
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
	if server.MaxRequestBodySize <= 0 {
		refuse("max_request_body_size: %d, more than 0 is needed", server.MaxRequestBodySize)
	}
	if least := c.leastMemory(); c.Memory < least {
		refuse("memory: %d, at least %d is needed for one request of max_request_body_size under compression_algorithms", c.Memory, least)
	}
	if server.WriteTimeout > 0 && server.WriteTimeout <= server.ReadTimeout {
		refuse("write_timeout: %v, more than the read_timeout of %v is needed, as it runs while a body is read; or 0s: no limit", server.WriteTimeout, server.ReadTimeout)
	}
	if c.TimeField == "" {
		refuse("time_field: empty, the name of a field is needed")
	}
	within("max_events", c.MaxEvents, 1, mostEvents)
	within("max_event_bytes", c.MaxEventBytes, leastEventBytes, mostEventBytes)
	within("max_fields", c.MaxFields, 1, mostFields)
	within("max_connections", c.MaxConnections, 1, mostConns)
	return errors.Join(problems...)
}
