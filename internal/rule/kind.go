package rule

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/ottl"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// kind is a kind of records that a rule can count. C is the cursor that walks them, T OTTL's context of them.
type kind[C, T any] struct {
	name      string // in messages
	signal    string
	contexts  map[string]fields[C]
	transform func(*C) T
	size      func(*C) int // of a record as OTLP protobuf; nil: not known
	functions []function[T]
	parser    func(map[string]ottl.Factory[T], component.TelemetrySettings, ottl.Option[T]) (ottl.Parser[T], error)
	keep      func(*Rule, *plan[C])
}

// function is a converter for one kind of record: it reads a field without a path that names it.
type function[T any] struct {
	factory ottl.Factory[T]
	reads   string
}

func (k *kind[C, T]) counts() string { return k.signal }

func (k *kind[C, T]) contextNames() []string { return slices.Sorted(maps.Keys(k.contexts)) }

func (k *kind[C, T]) takes(context string) bool {
	_, ok := k.contexts[context]
	return ok
}

// attributes of the record itself.
func (k *kind[C, T]) attributes() func(*C) pcommon.Map {
	for _, f := range k.contexts {
		if f.level == perRecord {
			return f.maps["attributes"]
		}
	}
	return nil
}

// errExpression says nothing of the record: it may be logged.
var errExpression = errors.New("an OTTL expression failed (error_mode: propagate)")

// compile makes the plan of cfg and keeps it in r. Each problem begins with its YAML key.
func (k *kind[C, T]) compile(cfg *Config, r *Rule, secret string, set component.TelemetrySettings) (problems Problems) {
	functions := converters[T](secret)
	for _, f := range k.functions {
		functions[f.factory.Name()] = f.factory
	}
	parser, err := k.parser(functions, set, ottl.WithPathContextNames[T](k.contextNames()))
	if err != nil {
		return problems.add("key", "%w", err)
	}
	p := &plan[C]{names: r.definition.keyText(), stand: cfg.Default, attributes: k.attributes()}
	if cfg.ErrorMode == ErrorPropagate {
		p.onFailed = errExpression
	}
	compile := func(key, path string) (l lookup[C]) {
		l, ok := direct(k.contexts, path)
		if ok {
			return l
		}
		p.expresses = true
		get, err := expression(&parser, k.transform, path)
		if err != nil {
			problems = problems.add(key, "%w", err)
		}
		return lookup[C]{level: perRecord, get: get}
	}
	for i, path := range cfg.Key {
		l := compile(fmt.Sprintf("key[%d]", i), path)
		p.key = append(p.key, l)
		p.keyLevel = max(p.keyLevel, l.level)
	}
	if cfg.GroupBy != "" {
		l := compile("group_by", cfg.GroupBy)
		p.group = &l
	}
	switch cfg.Weight {
	case WeightOne:
		if w := uint64(math.Round(cfg.WeightScale)); w != 1 {
			p.weigh = func(*C, *value) (uint64, reason) { return w, fits }
		}
	case WeightBytes:
		if k.size == nil {
			problems = problems.add("weight", "bytes is not known of %s", k.name)
			break
		}
		p.weigh = weighSize(k.size, cfg.WeightScale)
	default:
		p.weigh = weighValue(compile("weight", cfg.Weight), cfg.WeightScale)
	}
	for i, text := range cfg.Conditions {
		p.expresses = true
		holds, err := condition(&parser, k.transform, text)
		if err != nil {
			problems = problems.add(fmt.Sprintf("conditions[%d]", i), "%w", err)
		}
		p.conditions = append(p.conditions, holds)
	}
	if len(problems) == 0 {
		k.keep(r, p)
	}
	return problems
}

// firstTime is the first of two timestamps that is set, else now.
func firstTime(now int64, first, second pcommon.Timestamp) int64 {
	if first == 0 {
		first = second
	}
	if first == 0 {
		return now
	}
	return int64(min(first, math.MaxInt64))
}

// stringOf is OTTL's body.string.
func stringOf(v pcommon.Value) string {
	if v.Type() == pcommon.ValueTypeStr {
		return v.Str()
	}
	return v.AsString()
}
