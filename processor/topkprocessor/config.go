package topkprocessor

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/uplink"
	"github.com/otel-topk/collector/internal/wire"
)

// Values of Config.Clock.
const (
	clockWall  = "wall"
	clockEvent = "event"
)

// Config of the processor. All processors made from one configuration share one counter.
type Config struct {
	// Rules say what to count. At least one.
	Rules []Rule `mapstructure:"rules"`

	// Gateways receive every state, each for itself. Default one: localhost:7071. None is refused but where the only rule is that of
	// Partition, which is then not counted.
	Gateways []Gateway `mapstructure:"gateways"`

	// Shard is the name of this process in coverage. Default "": the collector's service.instance.id.
	Shard string `mapstructure:"shard"`

	// Seed of the key hash, one text for a fleet, secret where keys are hostile. Default "": the seed 0.
	Seed configopaque.String `mapstructure:"seed"`

	// Clock is "wall" or "event" (time is the newest event of the rule, for replaying history). Default "wall".
	Clock string `mapstructure:"clock"`

	// Lateness keeps a minute open after it ends, up to 2h. Default 2m. 0: a minute closes as it ends.
	Lateness time.Duration `mapstructure:"lateness"`

	// Future is how far ahead of the wall clock a record may be, up to 2h. Default 1m. 0: not at all.
	Future time.Duration `mapstructure:"future"`

	// EmitInterval is the time between sends of changed states, 100ms to 30s. Default 2s. 0 is refused.
	EmitInterval time.Duration `mapstructure:"emit_interval"`

	// Pending is the memory in bytes for final states that were not answered, at least 1 MiB. Default 256 MiB. 0 is refused.
	Pending int64 `mapstructure:"pending"`

	// Retain is how long a final state is kept unanswered after its minute ended (with clock: event after it was closed), 1m to
	// 24h, and at least 1m more than Lateness, for only then it is sent. Default 2h. 0 is refused.
	Retain time.Duration `mapstructure:"retain"`

	// Storage is the storage extension in which what was counted outlasts the process. Default none: what no gateway has
	// answered ends with the process.
	Storage *component.ID `mapstructure:"storage"`

	// Partition stamps an attribute on the records of one rule, by which others may partition them. Default none: records leave as they
	// came.
	Partition configoptional.Optional[Partition] `mapstructure:"partition"`

	// prevent unkeyed literal initialization
	_ struct{}
}

var _ confmap.Validator = (*Config)(nil)

// Limits of the configuration.
const (
	maxLateness     = 2 * time.Hour
	maxFuture       = 2 * time.Hour
	minEmitInterval = 100 * time.Millisecond
	maxEmitInterval = 30 * time.Second
	minPending      = 1 << 20
	minRetain       = time.Minute
	maxRetain       = 24 * time.Hour
)

func createDefaultConfig() component.Config {
	return &Config{
		Gateways:     []Gateway{uplink.NewDefaultGateway()},
		Clock:        clockWall,
		Lateness:     2 * time.Minute,
		Future:       time.Minute,
		EmitInterval: 2 * time.Second,
		Pending:      256 << 20,
		Retain:       2 * time.Hour,
		Partition:    defaultPartition(),
	}
}

// Validate returns all problems, each by its YAML key.
func (c *Config) Validate() error {
	var errs []error
	problem := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	within := func(key string, d, low, high time.Duration) {
		if d < low || d > high {
			problem("%s: %v, allowed is %v to %v", key, d, low, high)
		}
	}

	if n := len(c.Rules); n == 0 || n > wire.MaxReportRules {
		problem("rules: %d, allowed is 1 to %d", n, wire.MaxReportRules)
	}
	names := make(map[string]int, len(c.Rules))
	for i := range c.Rules {
		r := &c.Rules[i]
		for _, err := range each(r.Validate(string(c.Seed))) {
			problem("rules[%d].%w", i, err)
		}
		if first, ok := names[r.Name]; ok && r.Name != "" {
			problem("rules[%d].name: %q is the name of rules[%d] too", i, r.Name, first)
		} else {
			names[r.Name] = i
		}
	}

	p := c.Partition.Get()
	if p != nil {
		for _, err := range p.problems(c.Rules) {
			problem("partition.%w", err)
		}
	}
	stamped := func(name string) bool { return p != nil && p.Rule == name }

	onlyStamped := len(c.Rules) == 1 && stamped(c.Rules[0].Name)
	if len(c.Gateways) == 0 && !onlyStamped {
		problem("gateways: none, at least one is needed")
	}
	for i := range c.Gateways {
		for _, err := range c.Gateways[i].Problems() {
			problem("gateways[%d].%w", i, err)
		}
		for j, name := range c.Gateways[i].Rules {
			if _, ok := names[name]; !ok {
				problem("gateways[%d].rules[%d]: %q is the name of none of rules", i, j, name)
			}
		}
	}

	for i := range c.Rules {
		name := c.Rules[i].Name
		if len(c.Gateways) > 0 && !stamped(name) && !taken(c.Gateways, name) {
			problem("rules[%d]: no gateway takes %q, as it stands in the rules of none", i, name)
		}
	}
	if len(c.Shard) > wire.MaxShardBytes {
		problem("shard: %d bytes, allowed are %d", len(c.Shard), wire.MaxShardBytes)
	}
	if c.Clock != clockWall && c.Clock != clockEvent {
		problem("clock: %q, allowed is %q or %q", c.Clock, clockWall, clockEvent)
	}
	within("lateness", c.Lateness, 0, maxLateness)
	within("future", c.Future, 0, maxFuture)
	within("emit_interval", c.EmitInterval, minEmitInterval, maxEmitInterval)
	if c.Pending < minPending {
		problem("pending: %d, allowed is %d bytes or more", c.Pending, minPending)
	}
	within("retain", c.Retain, minRetain, maxRetain)
	if least := c.Lateness + minRetain; c.Clock == clockWall && c.Lateness <= maxLateness && c.Retain < least {
		problem("retain: %v, with lateness %v at least %v is needed, here and at every gateway: a final state goes when its minute closes",
			c.Retain, c.Lateness, least)
	}
	return errors.Join(errs...)
}

// each is the errors that err joins, or err itself.
func each(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// Rule is one element of rules.
type Rule = rule.Config

// Gateway is one element of gateways.
type Gateway = uplink.Gateway
