package rule

import (
	"fmt"
	"slices"
	"strconv"

	"go.opentelemetry.io/collector/confmap"
)

// Config of one rule, as written in YAML. Paths are OTTL paths with their context: log., span., spanevent., datapoint.,
// metric., scope. or resource.
type Config struct {
	// Name is the rule's label on every output, unique among the rules. Required; at most 128 bytes.
	Name string `mapstructure:"name"`
	// Key is the path, or the paths of a composite key, whose values are counted. Required.
	Key []string `mapstructure:"key"`
	// Default counts where a part of the key is missing, also "". Not given: such a record is not counted by this rule.
	Default *string `mapstructure:"default"`
	// GroupBy is the path whose value names the list a record counts in, beside the global one. Empty: only the global list.
	GroupBy string `mapstructure:"group_by"`
	// Weight of a record: 1, bytes (its size as OTLP protobuf, without resource and scope), or a path to an integer or a
	// double from 0 to MaxWeight. Text is no number: Int(...) or Double(...) make it one. Default 1.
	Weight string `mapstructure:"weight"`
	// WeightScale multiplies every weight before it is rounded half up: 0.001 makes milliseconds of microseconds.
	// Finite and above 0. Default 1.
	WeightScale float64 `mapstructure:"weight_scale"`
	// Conditions in OTTL; a record counts where one of them holds. Empty: all count.
	Conditions []string `mapstructure:"conditions"`
	// K is the longest list anyone may ask for, 1 to 500. Default 100.
	K int `mapstructure:"k"`
	// MaxGroups is how many groups have lists of their own, 1 to 10000; more share one overflow list. Default 500.
	MaxGroups int `mapstructure:"max_groups"`
	// MaxKeyBytes bounds keys and group names in bytes; longer ones count as what fits and a hash of the whole. From 64
	// (48 a part and 16 where the key is composite) to 65535, and with the residents within the 16 MiB of a state. Default 256.
	MaxKeyBytes int `mapstructure:"max_key_bytes"`
	// Signals are logs, traces or metrics. Required where no path names one (only resource. and scope. do not). Default: what
	// the paths name.
	Signals []string `mapstructure:"signals"`
	// Time of a span: its end, or with "start" its start. Default "": the end.
	Time string `mapstructure:"time"`
	// ErrorMode says what a failing OTTL expression does: ignore and silent leave the record out of this rule and count it so
	// (ignore with a warning in the log), propagate refuses the request. Default ignore.
	ErrorMode string `mapstructure:"error_mode"`
	// Accuracy of the counts.
	Accuracy AccuracyConfig `mapstructure:"accuracy"`
}

// AccuracyConfig sizes the summaries. Rules of one name must agree on epsilon and delta in the whole fleet.
type AccuracyConfig struct {
	// Epsilon is the part of the total by which an unlisted key may be overcounted, above 0, below 1. Default 0.001.
	Epsilon float64 `mapstructure:"epsilon"`
	// Delta is the probability of more than that, above 0, below 1. Default 0.01.
	Delta float64 `mapstructure:"delta"`
	// Residents is the number of keys counted one by one, 16 to 32768 and at least k. Default 0: max(640, 6k).
	Residents int `mapstructure:"residents"`
}

// Values of Config.
const (
	WeightOne   = "1"
	WeightBytes = "bytes"

	TimeStart = "start"

	ErrorIgnore    = "ignore"
	ErrorPropagate = "propagate"
	ErrorSilent    = "silent"

	SignalLogs    = "logs"
	SignalTraces  = "traces"
	SignalMetrics = "metrics"
)

const (
	defaultEpsilon = 0.001
	defaultDelta   = 0.01
)

// NewDefaultConfig has every default.
func NewDefaultConfig() Config {
	return Config{
		Weight:      WeightOne,
		WeightScale: 1,
		K:           100,
		MaxGroups:   500,
		MaxKeyBytes: 256,
		ErrorMode:   ErrorIgnore,
		Accuracy:    AccuracyConfig{Epsilon: defaultEpsilon, Delta: defaultDelta},
	}
}

// Unmarshal starts from the defaults. It takes one path or condition where a list may stand (the collector would cut it at
// its commas), and numbers for text (weight: 1).
func (c *Config) Unmarshal(conf *confmap.Conf) error {
	*c = NewDefaultConfig()
	meant := map[string]any{}
	for _, name := range []string{"key", "conditions", "signals"} {
		if s, ok := conf.Get(name).(string); ok {
			meant[name] = []any{s}
		}
	}
	for _, name := range []string{"name", "weight", "default"} {
		if s, ok := scalarText(conf.Get(name)); ok {
			meant[name] = s
		}
	}
	if err := conf.Merge(confmap.NewFromStringMap(meant)); err != nil {
		return err
	}
	return conf.Unmarshal(c)
}

func scalarText(v any) (string, bool) {
	switch v := v.(type) {
	case int, int64, uint64, bool:
		return fmt.Sprint(v), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	default:
		return "", false
	}
}

// CountsSpanEvents says whether what a valid c counts in traces are the events of spans, and not spans.
func (c *Config) CountsSpanEvents() bool {
	chosen, _ := c.kinds()
	return slices.Contains(chosen, recordKind(spanEvents))
}
