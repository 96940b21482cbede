package rule

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.opentelemetry.io/collector/component"
	"go.uber.org/zap" //nolint:depguard // OTTL's parsers ask for a logger; this one is silent

	"github.com/otel-topk/collector/topk"
)

// Limits of a Config.
const (
	MaxNameBytes = 128
	MaxK         = 500
	MaxGroups    = 10_000

	minResidents = 16
	minKeyBytes  = 64 // of max_key_bytes
	minPartBytes = 48 // of max_key_bytes for each part of a composite key, and 16
)

// Problem is one thing that is wrong with a rule.
type Problem struct {
	Key string // of the YAML, as key[0] or accuracy.epsilon
	Err error
}

func (p Problem) Error() string { return p.Key + ": " + strings.ReplaceAll(p.Err.Error(), "\n", " ") }

// Problems are all that is wrong with a rule. They make one line.
type Problems []Problem

func (p Problems) Error() string {
	texts := make([]string, len(p))
	for i := range p {
		texts[i] = p[i].Error()
	}
	return strings.Join(texts, "; ")
}

// Unwrap is what they are one by one.
func (p Problems) Unwrap() []error {
	errs := make([]error, len(p))
	for i := range p {
		errs[i] = p[i]
	}
	return errs
}

func (p Problems) add(key, format string, args ...any) Problems {
	return append(p, Problem{key, fmt.Errorf(format, args...)})
}

func (p Problems) has(key string) bool {
	return slices.ContainsFunc(p, func(one Problem) bool { return one.Key == key })
}

// Validate returns all problems of one rule as Problems, also paths that OTTL does not know. The secret is that of New.
func (c *Config) Validate(secret string) error {
	_, problems := compile(*c, 0, secret, component.TelemetrySettings{Logger: zap.NewNop()})
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// fieldProblems are those that need no path.
func (c *Config) fieldProblems() (problems Problems) {
	add := func(key, format string, args ...any) { problems = problems.add(key, format, args...) }
	inRange := func(key string, v, low, high int) {
		if v < low || v > high {
			add(key, "%d is not in %d..%d", v, low, high)
		}
	}
	switch {
	case c.Name == "":
		add("name", "is required")
	case len(c.Name) > MaxNameBytes:
		add("name", "has %d bytes, allowed are 1..%d", len(c.Name), MaxNameBytes)
	case !utf8.ValidString(c.Name) || strings.ContainsFunc(c.Name, unicode.IsControl):
		add("name", "%q is not UTF-8 without control characters", c.Name)
	}
	if len(c.Key) == 0 {
		add("key", "is required: one path, or several for a composite key")
	}
	inRange("k", c.K, 1, MaxK)
	inRange("max_groups", c.MaxGroups, 1, MaxGroups)
	inRange("max_key_bytes", c.MaxKeyBytes, leastKeyBytes(len(c.Key)), topk.MaxKeyBytes)
	switch {
	case !(c.WeightScale > 0) || math.IsInf(c.WeightScale, 0):
		add("weight_scale", "%v is not a finite number above 0", c.WeightScale)
	case c.Weight == WeightOne && !(math.Round(c.WeightScale) >= 1 && c.WeightScale <= MaxWeight):
		add("weight_scale", "%v times the weight 1 is not in 1..%d when rounded", c.WeightScale, MaxWeight)
	}
	if c.Default != nil && (len(*c.Default) > c.MaxKeyBytes || !utf8.ValidString(*c.Default)) {
		add("default", "is longer than max_key_bytes or no UTF-8")
	}
	if c.Weight == "" {
		add("weight", "is empty; allowed are 1, bytes and a path")
	}
	if c.Time != "" && c.Time != TimeStart {
		add("time", "%q is neither empty nor %q", c.Time, TimeStart)
	}
	if modes := []string{ErrorIgnore, ErrorPropagate, ErrorSilent}; !slices.Contains(modes, c.ErrorMode) {
		add("error_mode", "%q is not one of %s", c.ErrorMode, strings.Join(modes, ", "))
	}
	for i, s := range c.Signals {
		if !slices.Contains(signals, s) {
			add(fmt.Sprintf("signals[%d]", i), "%q is not one of %s", s, strings.Join(signals, ", "))
		} else if slices.Contains(c.Signals[:i], s) {
			add(fmt.Sprintf("signals[%d]", i), "%q is there twice", s)
		}
	}
	return append(problems, c.Accuracy.problems(c.K)...)
}

func (a *AccuracyConfig) problems(k int) (problems Problems) {
	if _, err := topk.NewShape(a.Epsilon, defaultDelta, 0); err != nil {
		problems = problems.add("accuracy.epsilon", "%w", err)
	}
	if _, err := topk.NewShape(defaultEpsilon, a.Delta, 0); err != nil {
		problems = problems.add("accuracy.delta", "%w", err)
	}
	if least := max(minResidents, k); a.Residents != 0 && (a.Residents < least || a.Residents > topk.MaxResidents) {
		problems = problems.add("accuracy.residents", "%d is neither 0 nor in %d..%d", a.Residents, least, topk.MaxResidents)
	}
	return problems
}

// leastKeyBytes leaves room for a hash in each part.
func leastKeyBytes(parts int) int { return max(minKeyBytes, minPartBytes*parts+16) }
