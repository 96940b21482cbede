package trendreceiver

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"

	"github.com/otel-topk/collector/internal/board"
	"github.com/otel-topk/collector/internal/uplink"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
)

// Config of a trend receiver.
type Config struct {
	// Protocols that states are taken by, written as those of the otlp receiver. Default: grpc on localhost:7071 and http
	// on localhost:7072. If any is written, only the written ones are on.
	Protocols otlpreceiver.Protocols `mapstructure:"protocols"`

	// Clock that windows end at: wall (default), or event, the newest event of each rule, for replaying history.
	Clock string `mapstructure:"clock"`

	// Windows that lists are made for: multiples of 1m, from 1m to 24h. Default 5m, 1h, 24h; none is refused.
	Windows []time.Duration `mapstructure:"windows"`

	// PublishInterval is the time between two publications, from 100ms to 1m. Default 5s; 0 is refused.
	PublishInterval time.Duration `mapstructure:"publish_interval"`

	// Retain is how long after the end of its minute a state is still added, from 1m to 24h; with clock: event, after the last
	// state of its rule and minute came. Default 2h; 0 is refused.
	Retain time.Duration `mapstructure:"retain"`

	// Storage is the storage extension in which everything that was answered outlasts the process. Default none: what was
	// answered is lost with the process, and hours are kept 24h.
	Storage *component.ID `mapstructure:"storage"`

	// Keep says how long the parts of windows are kept.
	Keep KeepConfig `mapstructure:"keep"`

	// Gateways make this gateway a shard of each of them: they receive its states, as it receives those of its shards. A list of
	// otlp_grpc exporters, as of the topk processor. Default none.
	Gateways []uplink.Gateway `mapstructure:"gateways"`

	// Shard is the name of this gateway in the coverage of gateways. Default "": the collector's service.instance.id.
	Shard string `mapstructure:"shard"`

	// ReplicaSet is one name, of at most 128 bytes, for all gateways that are fed by the same shards and send to the same gateways:
	// these count one of them. Default "": it has no replica.
	ReplicaSet string `mapstructure:"replica_set"`

	// Pending is the memory in bytes for final states that were not answered by gateways, at least 1 MiB. Default 256 MiB. 0 is refused.
	Pending int64 `mapstructure:"pending"`

	// PointQueries says which windows answer for keys that are not listed: global (default), all, or off.
	PointQueries string `mapstructure:"point_queries"`

	// GroupMetrics sends the lists of groups to the metrics pipeline too, not the global ones only. Default false.
	GroupMetrics bool `mapstructure:"group_metrics"`

	// MaxRules is how many rules are counted, from 1 to 10000; further ones are refused. Default 100; 0 is refused.
	MaxRules int `mapstructure:"max_rules"`

	// MaxGroups is how many groups of one rule have a list, from 1 to 100000; further ones share the overflow list. Default
	// 1000; 0 is refused.
	MaxGroups int `mapstructure:"max_groups"`

	// MaxShards is how many runs of processors may be known at a time, from 1 to 100000; further ones are told to come
	// again. Default 10000; 0 is refused.
	MaxShards int `mapstructure:"max_shards"`

	// MaxStatesSize is how many bytes the states of minutes that are still open may take as they came, from 1 MiB. Past it
	// a shard that holds more than its even share is told to come again. Default 1 GiB; 0 is refused.
	MaxStatesSize int64 `mapstructure:"max_states_size"`

	// MaxListsSize is how many bytes the merged lists of all rules, groups and windows may take at their full size, from
	// 1 MiB. Past it new rules are refused and new groups share the overflow list. Default 8 GiB; 0 is refused.
	MaxListsSize int64 `mapstructure:"max_lists_size"`

	// MaxPartsSize is how many bytes the summaries of closed minutes, 5 minutes and hours may take, from 1 MiB. Past it
	// the oldest are given up. Default 4 GiB; 0 is refused.
	MaxPartsSize int64 `mapstructure:"max_parts_size"`
}

// KeepConfig says how long the parts of windows are kept.
type KeepConfig struct {
	// Minutes is how long summaries of minutes are kept, in whole minutes from 5m to 24h. A window that reaches further back
	// starts on a 5-minute edge. Default 2h; 0 is refused.
	Minutes time.Duration `mapstructure:"minutes"`

	// Hours is how long summaries of hours are kept in the storage, in whole hours from 24h to 8760h. Without a storage they
	// are kept 24h, whatever is written here. Default 2160h, 90 days; 0 is refused.
	Hours time.Duration `mapstructure:"hours"`
}

const (
	clockWall  = "wall"
	clockEvent = "event"

	leastSize = 1 << 20 // bytes, of a limit of memory

	defaultPending = 256 << 20

	maxRequestMiB = wire.MaxBodyBytes>>20 + 1 // one that holds the largest state
	maxStreams    = 16                        // of a connection: a hundred shards behind one proxy are answered as fast as with more
)

var (
	_ confmap.Unmarshaler = (*Config)(nil)
	_ component.Config    = (*Config)(nil)
)

func createDefaultConfig() component.Config {
	protocols := defaultProtocols()
	protocols.GRPC.GetOrInsertDefault()
	protocols.HTTP.GetOrInsertDefault()
	return &Config{
		Protocols:       protocols,
		Clock:           clockWall,
		Windows:         []time.Duration{5 * time.Minute, time.Hour, 24 * time.Hour},
		PublishInterval: 5 * time.Second,
		Retain:          2 * time.Hour,
		Keep:            KeepConfig{Minutes: 2 * time.Hour, Hours: 90 * 24 * time.Hour},
		PointQueries:    board.PointQueriesGlobal,
		MaxRules:        100,
		MaxGroups:       1000,
		MaxShards:       10000,
		MaxStatesSize:   board.DefaultMaxLiveBytes,
		MaxListsSize:    board.DefaultMaxListBytes,
		MaxPartsSize:    board.DefaultMaxPartBytes,
		Pending:         defaultPending,
	}
}

// defaultProtocols are those of the otlp receiver on ports of their own, each off until it is asked for, with limits on what a
// connection may hold and for how long.
func defaultProtocols() otlpreceiver.Protocols {
	p := otlpreceiver.NewFactory().CreateDefaultConfig().(*otlpreceiver.Config).Protocols
	grpc, http := *p.GRPC.GetOrInsertDefault(), *p.HTTP.GetOrInsertDefault()
	grpc.NetAddr.Endpoint, grpc.MaxRecvMsgSizeMiB, grpc.MaxConcurrentStreams = "localhost:7071", maxRequestMiB, maxStreams
	life := grpc.Keepalive.GetOrInsertDefault()
	server := life.ServerParameters.GetOrInsertDefault()
	server.MaxConnectionIdle, server.Time, server.Timeout = 10*time.Minute, time.Minute, 20*time.Second
	pings := life.EnforcementPolicy.GetOrInsertDefault()
	pings.MinTime, pings.PermitWithoutStream = 10*time.Second, true
	http.ServerConfig.NetAddr.Endpoint = "localhost:7072"
	http.ServerConfig.MaxRequestBodySize = maxRequestMiB << 20
	http.ServerConfig.ReadTimeout = time.Minute
	p.GRPC, p.HTTP = configoptional.Default(grpc), configoptional.Default(http)
	return p
}

// Unmarshal turns only the written protocols on where any is written. It is not called for an empty configuration.
func (c *Config) Unmarshal(conf *confmap.Conf) error {
	if conf.IsSet("protocols") {
		c.Protocols = defaultProtocols()
	}
	return conf.Unmarshal(c)
}

// Validate returns all problems, each by its YAML key.
func (c *Config) Validate() error {
	var errs []error
	oneOf := func(key, got string, allowed ...string) {
		for _, a := range allowed {
			if got == a {
				return
			}
		}
		errs = append(errs, fmt.Errorf("%s: %q, allowed are %q", key, got, allowed))
	}
	duration := func(key string, got, low, high time.Duration) {
		if got < low || got > high {
			errs = append(errs, fmt.Errorf("%s: %v, allowed is %v to %v", key, got, low, high))
		}
	}
	number := func(key string, got, high int) {
		if got < 1 || got > high {
			errs = append(errs, fmt.Errorf("%s: %d, allowed is 1 to %d", key, got, high))
		}
	}
	size := func(key string, got int64) {
		if got < leastSize {
			errs = append(errs, fmt.Errorf("%s: %d bytes, allowed is %d or more", key, got, leastSize))
		}
	}

	oneOf("clock", c.Clock, clockWall, clockEvent)
	errs = append(errs, c.validateWindows()...)
	duration("publish_interval", c.PublishInterval, 100*time.Millisecond, time.Minute)
	duration("retain", c.Retain, time.Minute, 24*time.Hour)
	duration("keep.minutes", c.Keep.Minutes, 5*time.Minute, 24*time.Hour)
	if c.Keep.Minutes%window.Bucket != 0 {
		errs = append(errs, fmt.Errorf("keep.minutes: %v, only whole minutes are allowed", c.Keep.Minutes))
	}
	duration("keep.hours", c.Keep.Hours, 24*time.Hour, 365*24*time.Hour)
	if c.Keep.Hours%time.Hour != 0 {
		errs = append(errs, fmt.Errorf("keep.hours: %v, only whole hours are allowed", c.Keep.Hours))
	}
	oneOf("point_queries", c.PointQueries, board.PointQueriesGlobal, board.PointQueriesAll, board.PointQueriesOff)
	number("max_rules", c.MaxRules, 10_000)
	number("max_groups", c.MaxGroups, 100_000)
	number("max_shards", c.MaxShards, 100_000)
	size("max_states_size", c.MaxStatesSize)
	size("max_lists_size", c.MaxListsSize)
	size("max_parts_size", c.MaxPartsSize)
	size("pending", c.Pending)
	errs = append(errs, c.validateAscent()...)
	return errors.Join(errs...)
}

// validateAscent checks what makes this gateway a shard of others.
func (c *Config) validateAscent() (errs []error) {
	for i := range c.Gateways {
		for _, err := range c.Gateways[i].Problems() {
			errs = append(errs, fmt.Errorf("gateways[%d].%w", i, err))
		}
	}
	if n := len(c.Shard); n > wire.MaxShardBytes {
		errs = append(errs, fmt.Errorf("shard: %d bytes, allowed are %d", n, wire.MaxShardBytes))
	}
	if n := len(c.ReplicaSet); n > wire.MaxReplicaSetBytes {
		errs = append(errs, fmt.Errorf("replica_set: %d bytes, allowed are %d", n, wire.MaxReplicaSetBytes))
	}
	switch {
	case len(c.Gateways) == 0 && c.ReplicaSet != "":
		errs = append(errs, fmt.Errorf("replica_set: %q, and gateways is empty: only gateways count replicas once", c.ReplicaSet))
	case len(c.Gateways) > 0 && c.Storage == nil && c.ReplicaSet == "":
		errs = append(errs, errors.New("storage: none, with gateways it is needed: without it, what went up before a restart and comes from the shards "+
			"again would count twice above; or a replica_set, by which the larger of both counts"))
	}
	return errs
}

func (c *Config) validateWindows() (errs []error) {
	if len(c.Windows) == 0 {
		errs = append(errs, errors.New("windows: empty, at least one is needed"))
	}
	first := map[time.Duration]int{}
	for i, w := range c.Windows {
		if w < window.Bucket || w > wire.MaxWindow || w%window.Bucket != 0 {
			errs = append(errs, fmt.Errorf("windows[%d]: %v, a multiple of %v from %v to %v is allowed", i, w, window.Bucket, window.Bucket, wire.MaxWindow))
		}
		if j, ok := first[w]; ok {
			errs = append(errs, fmt.Errorf("windows[%d]: %v, the same as windows[%d]", i, w, j))
		} else {
			first[w] = i
		}
	}
	return errs
}
