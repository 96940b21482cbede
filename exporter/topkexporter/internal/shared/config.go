// Package shared keeps published lists in Redis, where any number of exporters and other programs read them. FORMAT.md beside it
// specifies keys and values.
package shared

import (
	"context"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configtls"
)

// Config says where lists are shared, and whether they are written or read.
type Config struct {
	// Endpoint is the server's host:port. Default localhost:6379.
	Endpoint string `mapstructure:"endpoint"`

	// Username and Password of the server. Default "": none.
	Username string              `mapstructure:"username"`
	Password configopaque.String `mapstructure:"password"`

	// DB is the number of the database, from 0. Default 0.
	DB int `mapstructure:"db"`

	// TLS is the collector's TLS client configuration. Default: none is written, and the connection is plain.
	TLS configoptional.Optional[configtls.ClientConfig] `mapstructure:"tls"`

	// Prefix of all keys. Default topk; empty is refused.
	Prefix string `mapstructure:"prefix"`

	// Timeout of one round trip, from 10ms to 1m. Default 1s; 0 is refused.
	Timeout time.Duration `mapstructure:"timeout"`

	// Expire is how long a list stays that nobody writes any more, from 1m to 720h. Default 24h: lists outlast the gateways. 0 is refused.
	Expire time.Duration `mapstructure:"expire"`

	// Read makes this exporter one that only reads: lists come from Redis. Default false: it writes what its pipeline brings.
	Read bool `mapstructure:"read"`

	// PollInterval is how often a reader asks for what changed, from 100ms to 1m. Default 1s; 0 is refused.
	PollInterval time.Duration `mapstructure:"poll_interval"`
}

const (
	defaultEndpoint = "localhost:6379"
	defaultPrefix   = "topk"
	mostPrefix      = 128 // bytes
)

// NewDefaultConfig writes to the server of this machine.
func NewDefaultConfig() Config {
	return Config{Endpoint: defaultEndpoint, Prefix: defaultPrefix, Timeout: time.Second, Expire: 24 * time.Hour, PollInterval: time.Second}
}

// Problems are all that is wrong with c, each by its YAML key.
func (c *Config) Problems() (errs []error) {
	refuse := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	within := func(key string, d, low, high time.Duration) {
		if d < low || d > high {
			refuse("%s: %s is out of range; allowed: %s to %s", key, d, low, high)
		}
	}
	if _, _, err := net.SplitHostPort(c.Endpoint); err != nil {
		refuse("endpoint: %q is no host:port such as %s", c.Endpoint, defaultEndpoint)
	}
	if c.DB < 0 {
		refuse("db: %d is negative", c.DB)
	}
	if c.Prefix == "" || len(c.Prefix) > mostPrefix {
		refuse("prefix: %d bytes; allowed: 1 to %d", len(c.Prefix), mostPrefix)
	}
	within("timeout", c.Timeout, 10*time.Millisecond, time.Minute)
	within("expire", c.Expire, time.Minute, 720*time.Hour)
	within("poll_interval", c.PollInterval, 100*time.Millisecond, time.Minute)
	return errs
}

// connect makes a client, which calls connected whenever it has a new connection. The server need not be there.
func (c *Config) connect(ctx context.Context, connected func()) (*redis.Client, error) {
	o := &redis.Options{
		Addr: c.Endpoint, Username: c.Username, Password: string(c.Password), DB: c.DB,
		DialTimeout: c.Timeout, ReadTimeout: c.Timeout, WriteTimeout: c.Timeout, MaxRetries: -1, DialerRetries: 1,
		PoolSize:        1000, // one is used; after as many failures the client dials by itself, each second
		DisableIdentity: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		OnConnect: func(ctx context.Context, cn *redis.Conn) error {
			if err := cn.Ping(ctx).Err(); redis.HasErrorPrefix(err, "NOAUTH") {
				return err // a large request would be cut off, and not answered
			}
			connected()
			return nil
		},
	}
	logging.Disable() // what it would print of its own comes back as errors
	if c.TLS.HasValue() {
		var err error
		if o.TLSConfig, err = c.TLS.Get().LoadTLSConfig(ctx); err != nil {
			return nil, fmt.Errorf("redis.tls: %w", err)
		}
	}
	return redis.NewClient(o), nil
}

// exec sends p, and then each command has its error, if there is one: the library gives them none where it could not begin.
func exec(ctx context.Context, p redis.Pipeliner) {
	commands, err := p.Exec(ctx)
	if slices.ContainsFunc(commands, func(c redis.Cmder) bool { return c.Err() != nil }) {
		return
	}
	for _, c := range commands {
		c.SetErr(err)
	}
}
