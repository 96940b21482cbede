package rule

import (
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Config of one rule, as written in YAML.
type Config struct {
	Name string `mapstructure:"name"`
	// ... key, default, group_by, weight, weight_scale, conditions, k, max_groups, max_key_bytes, signals, time,
	// error_mode, accuracy: {epsilon, delta, residents}
	MaxGroups int `mapstructure:"max_groups"`
}

// NewDefaultConfig has every default of design section 4.
func NewDefaultConfig() Config { panic("stub") }

// Validate returns all problems of one rule, each by its YAML key (`key[0]: ...`).
func (c *Config) Validate() error { panic("stub") }

// Rule is a compiled Config. It is safe for concurrent use.
type Rule struct{}

// New compiles cfg. seed is the fleet's hash seed.
func New(cfg Config, seed uint64, set component.TelemetrySettings) (*Rule, error) { panic("stub") }

// Definition of the rule; the caller does not change it.
func (r *Rule) Definition() *Definition { panic("stub") }

// Config that the rule was made from.
func (r *Rule) Config() Config { panic("stub") }

// Batch is what one rule found in one request, as columns of equal length. It is reused: Reset keeps its memory.
type Batch struct {
	Keys    []string
	Weights []uint64 // nil: 1 each
	Groups  []Group  // nil: the rule has no group_by
	Times   []int64  // event time, Unix nanoseconds
	Skipped Skipped
}

func (b *Batch) Reset() { panic("stub") }

// Skipped counts records that the rule looked at and did not count, by reason.
type Skipped struct {
	Unmatched  uint64 // no condition held
	MissingKey uint64 // a part of the key is missing and there is no default
	BadWeight  uint64 // missing, not a number, not finite, negative, or too large
	Errors     uint64 // an OTTL expression failed
	CutKeys    uint64 // counted, but under a cut key
	Repaired   uint64 // counted, but the key held invalid UTF-8
}

// Logs, Traces and Metrics append to b what the rule finds; now (Unix nanoseconds) is the time of records that carry none.
func (r *Rule) Logs(ld plog.Logs, now int64, b *Batch)          { panic("stub") }
func (r *Rule) Traces(td ptrace.Traces, now int64, b *Batch)    { panic("stub") }
func (r *Rule) Metrics(md pmetric.Metrics, now int64, b *Batch) { panic("stub") }
