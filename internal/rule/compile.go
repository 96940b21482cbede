package rule

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/component"

	"github.com/otel-topk/collector/topk"
)

var signals = []string{SignalLogs, SignalTraces, SignalMetrics}

// recordKind is a kind of any cursor.
type recordKind interface {
	counts() string // the signal
	takes(context string) bool
	compile(cfg *Config, r *Rule, secret string, set component.TelemetrySettings) Problems
}

// kinds, in the order they are tried: where paths name no context of their own, traces are spans and not their events.
var kinds = []recordKind{logRecords, spans, spanEvents, dataPoints}

// compile makes a Rule of cfg, or says all that is wrong with it.
func compile(cfg Config, seed uint64, secret string, set component.TelemetrySettings) (*Rule, Problems) {
	fields := cfg.fieldProblems()
	chosen, found := cfg.kinds()
	problems := append(fields, found...)
	shape, _ := topk.NewShape(cfg.Accuracy.Epsilon, cfg.Accuracy.Delta, seed)
	r := &Rule{config: cfg, definition: cfg.definition(shape, chosen)}
	if len(fields) == 0 {
		problems = append(problems, r.definition.sizeProblem()...)
	}
	for _, k := range chosen {
		for _, p := range k.compile(&r.config, r, secret, set) {
			if !problems.has(p.Key) {
				problems = append(problems, p)
			}
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return r, nil
}

// path is one OTTL text of a Config.
type path struct{ key, text string }

// paths are those that must name a context.
func (c *Config) paths() (paths []path) {
	for i, text := range c.Key {
		paths = append(paths, path{fmt.Sprintf("key[%d]", i), text})
	}
	if c.GroupBy != "" {
		paths = append(paths, path{"group_by", c.GroupBy})
	}
	if c.Weight != "" && c.Weight != WeightOne && c.Weight != WeightBytes {
		paths = append(paths, path{"weight", c.Weight})
	}
	return paths
}

const contextList = "log., span., spanevent., datapoint., metric., scope. or resource."

// kinds of records that the rule counts, at most one of each signal. With problems it returns what is needed to find more.
func (c *Config) kinds() (fit []recordKind, problems Problems) {
	paths := c.paths()
	for _, p := range paths {
		if len(contextsOf(p.text)) == 0 {
			others := ""
			if p.key == "weight" {
				others = ", and 1 and bytes are weights too"
			}
			problems = problems.add(p.key, "%q names no path; one begins with %s%s", p.text, contextList, others)
		}
	}
	for i, text := range c.Conditions {
		paths = append(paths, path{fmt.Sprintf("conditions[%d]", i), text})
	}
	fit = kinds
	fixed := ""
	for _, p := range paths {
		for _, context := range contextsOf(p.text) {
			if !slices.ContainsFunc(kinds, taking(context)) {
				problems = problems.add(p.key, "%q is no context; a path begins with %s", context+".", contextList)
				continue
			}
			if context == "resource" || context == "scope" {
				continue
			}
			narrower := slices.DeleteFunc(slices.Clone(fit), not(taking(context)))
			if len(narrower) == 0 {
				problems = problems.add(p.key, "%s. does not go with %s; a rule counts records of one kind", context, fixed)
				continue
			}
			fit = narrower
			if fixed == "" {
				fixed = fmt.Sprintf("%s. (%s)", context, p.key)
			}
		}
	}
	return c.bySignal(fit, fixed != "", problems)
}

// bySignal holds the kinds that the paths fit against the signals.
func (c *Config) bySignal(fit []recordKind, fixed bool, problems Problems) ([]recordKind, Problems) {
	var chosen []recordKind
	var names []string
	for _, k := range fit {
		signal := k.counts()
		if slices.Contains(names, signal) || !fixed && len(c.Signals) > 0 && !slices.Contains(c.Signals, signal) {
			continue
		}
		chosen = append(chosen, k)
		names = append(names, signal)
	}
	switch {
	case fixed && len(c.Signals) > 0 && !slices.Equal(c.Signals, names):
		problems = problems.add("signals", "%s disagrees with the paths, which count %s", strings.Join(c.Signals, ", "), names[0])
	case !fixed && len(c.Signals) == 0:
		if len(problems) == 0 {
			problems = problems.add("signals", "is required, since no path says which of %s is counted", strings.Join(signals, ", "))
		}
		chosen = chosen[:1]
	}
	if c.Time == TimeStart && !slices.Contains(chosen, recordKind(spans)) {
		problems = problems.add("time", "%q is for rules that count spans", TimeStart)
	}
	return chosen, problems
}

func taking(context string) func(recordKind) bool {
	return func(k recordKind) bool { return k.takes(context) }
}

func not(f func(recordKind) bool) func(recordKind) bool {
	return func(k recordKind) bool { return !f(k) }
}

var (
	stringLiteral = regexp.MustCompile(`"(?:\\.|[^\\"])*"`)
	dottedName    = regexp.MustCompile(`[a-z][a-z0-9_]*(?:\s*\.\s*[a-z][a-z0-9_]*)+`)
)

// contextsOf names what the paths of an expression begin with, in order, each once.
func contextsOf(expression string) []string {
	var names []string
	for _, path := range dottedName.FindAllString(stringLiteral.ReplaceAllString(expression, `""`), -1) {
		name, _, _ := strings.Cut(path, ".")
		if name = strings.TrimSpace(name); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// definition of the rule that c configures.
func (c *Config) definition(shape topk.Shape, chosen []recordKind) Definition {
	var names []string
	for _, k := range chosen {
		names = append(names, k.counts())
	}
	residents := c.Accuracy.Residents
	if residents == 0 {
		residents = topk.Residents(c.K)
	}
	return Definition{
		Name:        c.Name,
		Signals:     names,
		Key:         c.Key,
		GroupBy:     c.GroupBy,
		Weight:      c.Weight,
		WeightScale: c.WeightScale,
		Conditions:  c.Conditions,
		Default:     c.Default,
		Time:        c.Time,
		K:           c.K,
		MaxKeyBytes: c.MaxKeyBytes,
		Residents:   residents,
		Shape:       shape,
	}
}
