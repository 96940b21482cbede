package rule

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
)

func TestValidateNamesWhatIsWrong(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, row := range []struct {
		situation string
		change    func(*Config)
		want      []string
	}{
		{"nothing", func(*Config) {}, nil},
		{"no name", func(c *Config) { c.Name = "" }, []string{"name: is required"}},
		{"a long name", func(c *Config) { c.Name = long }, []string{"name: has 300 bytes, allowed are 1..128"}},
		{"a name of two lines", func(c *Config) { c.Name = "a\nb" }, []string{`name: "a\nb" is not UTF-8 without control characters`}},
		{"no key", func(c *Config) { c.Key = nil; c.Signals = []string{SignalLogs} }, []string{"key: is required: one path, or several for a composite key"}},
		{"k = 0", func(c *Config) { c.K = 0 }, []string{"k: 0 is not in 1..500"}},
		{"k = -1", func(c *Config) { c.K = -1 }, []string{"k: -1 is not in 1..500"}},
		{"k too large", func(c *Config) { c.K = 501 }, []string{"k: 501 is not in 1..500"}},
		{"no groups", func(c *Config) { c.MaxGroups = 0 }, []string{"max_groups: 0 is not in 1..10000"}},
		{"a key without room", func(c *Config) { c.MaxKeyBytes = 63 }, []string{"max_key_bytes: 63 is not in 64..65535"}},
		{"two parts without room", func(c *Config) { c.Key = append(c.Key, "log.body"); c.MaxKeyBytes = 111 }, []string{"max_key_bytes: 111 is not in 112..65535"}},
		{"a default that is cut", func(c *Config) { c.Default = &long }, []string{"default: is longer than max_key_bytes or no UTF-8"}},
		{"scale 0", func(c *Config) { c.WeightScale = 0 }, []string{"weight_scale: 0 is not a finite number above 0"}},
		{"scale NaN", func(c *Config) { c.WeightScale = math.NaN() }, []string{"weight_scale: NaN is not a finite number above 0"}},
		{"scale infinite", func(c *Config) { c.WeightScale = math.Inf(1) }, []string{"weight_scale: +Inf is not a finite number above 0"}},
		{"a weight of 1 scaled to nothing", func(c *Config) { c.WeightScale = 0.4 }, []string{"weight_scale: 0.4 times the weight 1 is not in 1..9007199254740992 when rounded"}},
		{"an empty weight", func(c *Config) { c.Weight = "" }, []string{"weight: is empty; allowed are 1, bytes and a path"}},
		{"a constant weight", func(c *Config) { c.Weight = "2" }, []string{`weight: "2" names no path; one begins with ` + contextList + ", and 1 and bytes are weights too"}},
		{"an unknown time", func(c *Config) { c.Time = "end" }, []string{`time: "end" is neither empty nor "start"`}},
		{"the start of logs", func(c *Config) { c.Time = TimeStart }, []string{`time: "start" is for rules that count spans`}},
		{"an unknown error mode", func(c *Config) { c.ErrorMode = "panic" }, []string{`error_mode: "panic" is not one of ignore, propagate, silent`}},
		{"epsilon 0", func(c *Config) { c.Accuracy.Epsilon = 0 }, []string{"accuracy.epsilon: "}},
		{"epsilon 1", func(c *Config) { c.Accuracy.Epsilon = 1 }, []string{"accuracy.epsilon: "}},
		{"epsilon NaN", func(c *Config) { c.Accuracy.Epsilon = math.NaN() }, []string{"accuracy.epsilon: "}},
		{"epsilon too small for memory", func(c *Config) { c.Accuracy.Epsilon = 1e-9 }, []string{"accuracy.epsilon: "}},
		{"delta 0", func(c *Config) { c.Accuracy.Delta = 0 }, []string{"accuracy.delta: "}},
		{"fewer residents than k", func(c *Config) { c.Accuracy.Residents = 99 }, []string{"accuracy.residents: 99 is neither 0 nor in 100..32768"}},
		{"keys too long for so many residents", func(c *Config) { c.MaxKeyBytes = 65535 }, []string{
			"max_key_bytes: 640 residents with keys of up to 65535 bytes (max_key_bytes) and 2719 x 5 cells (epsilon, delta) may take 42100750 bytes of a state, allowed are 16645120",
		}},
		{"long keys of few residents", func(c *Config) { c.K, c.MaxKeyBytes, c.Accuracy.Residents = 10, 65535, 250 }, nil},
		{"more cells than a state holds", func(c *Config) { c.Accuracy.Epsilon, c.Accuracy.Delta = 1.04e-5, 1.13e-7 }, []string{"accuracy: 640 residents with"}},
		{"an unknown field", func(c *Config) { c.Key = []string{"log.level"} }, []string{`key[0]: segment "level" from path "log.level" is not a valid path`}},
		{"an index where none goes", func(c *Config) { c.Key = []string{`log.severity_text["a"]`} }, []string{"key[0]: "}},
		{"an unknown context", func(c *Config) { c.Key = []string{"logs.body"} }, []string{`key[0]: "logs." is no context; a path begins with ` + contextList}},
		{"no context", func(c *Config) { c.Key = []string{`attributes["a"]`} }, []string{`key[0]: "attributes[\"a\"]" names no path; one begins with ` + contextList}},
		{"a context in a string only", func(c *Config) { c.Key = []string{`Concat(["log.body"], "")`} }, []string{`key[0]: "Concat([\"log.body\"], \"\")" names no path`}},
		{"an empty path", func(c *Config) { c.Key = []string{""} }, []string{`key[0]: "" names no path`}},
		{"an unknown function", func(c *Config) { c.Key = []string{"Shout(log.body)"} }, []string{"key[0]: undefined function \"Shout\""}},
		{"an editor", func(c *Config) { c.Key = []string{`set(log.body, "x")`} }, []string{"key[0]: "}},
		{"broken syntax", func(c *Config) { c.Key = []string{`log.attributes["a"`} }, []string{"key[0]: "}},
		{"client metadata", func(c *Config) { c.GroupBy = `otelcol.client.metadata["a"]` }, []string{`group_by: "otelcol." is no context`}},
		{"the cache", func(c *Config) { c.GroupBy = `resource.cache["a"]` }, []string{"group_by: "}},
		{"a condition that is no condition", func(c *Config) { c.Conditions = []string{"log.body"} }, []string{"conditions[0]: "}},
		{"an unknown path in a condition", func(c *Config) { c.Conditions = []string{"true", "log.level == 1"} }, []string{`conditions[1]: segment "level"`}},
		{"two kinds of records", func(c *Config) { c.Conditions = []string{"span.kind == 1"} }, []string{"conditions[0]: span. does not go with log. (key[0]); a rule counts records of one kind"}},
		{"no signal", func(c *Config) { c.Key = []string{"scope.name"} }, []string{"signals: is required, since no path says which of logs, traces, metrics is counted"}},
		{"the wrong signal", func(c *Config) { c.Signals = []string{SignalTraces} }, []string{"signals: traces disagrees with the paths, which count logs"}},
		{"one signal too many", func(c *Config) { c.Signals = []string{SignalLogs, SignalTraces} }, []string{"signals: logs, traces disagrees with the paths, which count logs"}},
		{"an unknown signal", func(c *Config) { c.Key = []string{"scope.name"}; c.Signals = []string{"logs", "profiles"} }, []string{`signals[1]: "profiles" is not one of logs, traces, metrics`}},
		{"a signal twice", func(c *Config) { c.Key = []string{"scope.name"}; c.Signals = []string{"logs", "logs"} }, []string{`signals[1]: "logs" is there twice`}},
		{"bytes of span events", func(c *Config) { c.Key = []string{"spanevent.name"}; c.Weight = WeightBytes }, []string{"weight: bytes is not known of span events"}},
		{"all at once", func(c *Config) {
			*c = Config{Key: []string{"log.level", "scope.shape"}, Signals: []string{SignalMetrics}, MaxGroups: 1, MaxKeyBytes: 256, Weight: "1", WeightScale: 1, ErrorMode: ErrorSilent}
		}, []string{
			"name: is required", "k: 0 is not in 1..500", "accuracy.epsilon: ", "accuracy.delta: ",
			"signals: metrics disagrees with the paths, which count logs", `key[0]: segment "level"`, `key[1]: segment "shape"`,
		}},
	} {
		t.Run(row.situation, func(t *testing.T) {
			cfg := NewDefaultConfig()
			cfg.Name, cfg.Key = "a", []string{`log.attributes["a"]`}
			row.change(&cfg)
			err := cfg.Validate("")
			if len(row.want) == 0 {
				require.NoError(t, err)
				return
			}
			var problems Problems
			require.ErrorAs(t, err, &problems)
			require.Len(t, problems, len(row.want), "%v", err)
			for i, err := range problems.Unwrap() {
				require.True(t, strings.HasPrefix(err.Error(), row.want[i]), "%v begins with %s", err, row.want[i])
			}
			require.NotContains(t, err.Error(), "\n")

			_, newErr := New(cfg, 1, "", componenttest.NewNopTelemetrySettings())
			require.EqualError(t, newErr, err.Error())
		})
	}
}

// The collector puts the rule's place before the line, once.
func TestProblemsAreOneLine(t *testing.T) {
	set, err := load(t, `{name: a, key: log.body}, {key: log.level, k: 0}`)
	require.NoError(t, err)
	require.NoError(t, set.Rules[0].Validate(""))
	require.ErrorContains(t, set.Rules[1].Validate(""), "name: is required; k: 0 is not in 1..500; key[0]: segment")
}

func TestSignalsFollowFromThePaths(t *testing.T) {
	for _, row := range []struct {
		path    string
		signals []string // as configured
		want    []string
	}{
		{"log.body", nil, []string{SignalLogs}},
		{"log.body", []string{SignalLogs}, []string{SignalLogs}},
		{"span.name", nil, []string{SignalTraces}},
		{"spanevent.name", nil, []string{SignalTraces}},
		{"datapoint.count", nil, []string{SignalMetrics}},
		{"metric.name", nil, []string{SignalMetrics}},
		{`Concat([log.body, resource.attributes["a"]], "-")`, nil, []string{SignalLogs}},
		{"scope.name", []string{SignalMetrics}, []string{SignalMetrics}},
		{`resource.attributes["a"]`, []string{SignalTraces, SignalLogs}, []string{SignalLogs, SignalTraces}},
	} {
		r := compiled(t, func(c *Config) { c.Key, c.Signals = []string{row.path}, row.signals })
		require.Equal(t, row.want, r.Definition().Signals, row.path)
	}
}
