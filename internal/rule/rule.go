package rule

import "go.opentelemetry.io/collector/component"

// Rule is a compiled Config. It is safe for concurrent use.
type Rule struct {
	config     Config
	definition Definition

	logs   *plan[logCursor]
	spans  *plan[spanCursor]
	events *plan[eventCursor]
	points *plan[pointCursor]
}

// New compiles cfg. seed is the fleet's hash seed; secret, its text, is what pseudonyms are keyed by and does not travel. The error
// is that of Config.Validate.
func New(cfg Config, seed uint64, secret string, set component.TelemetrySettings) (*Rule, error) {
	r, problems := compile(cfg, seed, secret, set)
	if len(problems) > 0 {
		return nil, problems
	}
	return r, nil
}

// Definition of the rule; the caller does not change it.
func (r *Rule) Definition() *Definition { return &r.definition }

// Config that the rule was made from.
func (r *Rule) Config() Config { return r.config }
