package rule

import (
	"cmp"
	"slices"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/ottl"
	"go.opentelemetry.io/collector/component"
	"go.uber.org/zap" //nolint:depguard // OTTL's parsers ask for a logger; this one is silent
)

// Needs is what a rule reads of a record, beside its event time: a record that lacks all else counts as the whole one does.
// Field names are those of OTLP, log.body, span.status, resource.schema_url; the events of a span are one field, span.events.
type Needs struct {
	Whole      bool        // anything; the rest says nothing
	Attributes []Attribute // single attributes, sorted, each once; none that is in Maps
	Maps       []string    // contexts whose attributes are read as a whole: log, span, scope, resource; sorted
	Fields     []string    // sorted
	Size       bool        // of the record as OTLP protobuf, which Batch.Sizes takes
}

// Attribute is one attribute of a context.
type Attribute struct{ Context, Name string }

// Fields that hold times. Who needs one of a record needs both: the event time of a record without the one is the other.
const (
	fieldTime     = "log.time_unix_nano"
	fieldObserved = "log.observed_time_unix_nano"
	fieldStart    = "span.start_time_unix_nano"
	fieldEnd      = "span.end_time_unix_nano"
)

// Needs is what the rule reads of the records of signal.
func (r *Rule) Needs(signal string) Needs {
	var n Needs
	switch {
	case signal == SignalLogs && r.logs != nil:
		n = logRecords.needs(&r.config)
	case signal == SignalTraces && r.spans != nil:
		n = spans.needs(&r.config)
		if r.config.Time == TimeStart {
			n.Fields = append(n.Fields, fieldStart)
		}
	case signal == SignalTraces && r.events != nil:
		n = spanEvents.needs(&r.config)
		n.Fields = append(n.Fields, fieldEvents)
	default:
		return Needs{Whole: true}
	}
	if n.Whole {
		return Needs{Whole: true}
	}
	n.Size = r.config.Weight == WeightBytes
	return n.sorted()
}

// Early says whether the event times of what the rule counts of signal are not those of the records, which name their hour in an
// archive: of spans that count by their start, and of span events.
func (r *Rule) Early(signal string) bool {
	return signal == SignalTraces && (r.events != nil || r.spans != nil && r.config.Time == TimeStart)
}

func (n Needs) sorted() Needs {
	for _, pair := range [][]string{{fieldTime, fieldObserved}, {fieldStart, fieldEnd}} {
		if slices.Contains(n.Fields, pair[0]) || slices.Contains(n.Fields, pair[1]) {
			n.Fields = append(n.Fields, pair...)
		}
	}
	slices.Sort(n.Maps)
	n.Maps = slices.Compact(n.Maps)
	slices.Sort(n.Fields)
	n.Fields = slices.Compact(n.Fields)
	slices.SortFunc(n.Attributes, func(a, b Attribute) int {
		return cmp.Or(cmp.Compare(a.Context, b.Context), cmp.Compare(a.Name, b.Name))
	})
	n.Attributes = slices.DeleteFunc(slices.Compact(n.Attributes), func(a Attribute) bool { return slices.Contains(n.Maps, a.Context) })
	return n
}

// needs is what the paths of cfg, which are known to be good, read of records of kind k. OTTL's own grammar finds them: its parser
// is given a reader of paths that only notes what they name.
func (k *kind[C, T]) needs(cfg *Config) (n Needs) {
	functions := converters[T]("any, since nothing is evaluated")
	for _, f := range k.functions {
		functions[f.factory.Name()] = ottl.NewFactory(f.factory.Name(), nil, func(ottl.FunctionContext, ottl.Arguments) (ottl.ExprFunc[T], error) {
			n.Fields = append(n.Fields, f.reads)
			return nil, nil
		})
	}
	parser, err := ottl.NewParser(functions, func(p ottl.Path[T]) (ottl.GetSetter[T], error) {
		notePath(&n, p)
		return ottl.StandardGetSetter[T]{}, nil
	}, component.TelemetrySettings{Logger: zap.NewNop()}, ottl.WithPathContextNames[T](k.contextNames()),
		ottl.WithEnumParser[T](func(*ottl.EnumSymbol) (*ottl.Enum, error) { return new(ottl.Enum), nil }))
	if err != nil {
		return Needs{Whole: true}
	}
	for _, p := range cfg.paths() {
		if _, err := parser.ParseValueExpression(p.text); err != nil {
			return Needs{Whole: true}
		}
	}
	for _, text := range cfg.Conditions {
		if _, err := parser.ParseCondition(text); err != nil {
			return Needs{Whole: true}
		}
	}
	return n
}
