package rule

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
)

// ruleSet stands for the processor's configuration.
type ruleSet struct {
	Rules []Config `mapstructure:"rules"`
}

func load(t *testing.T, rules string) (set ruleSet, err error) {
	t.Helper()
	retrieved, err := confmap.NewRetrievedFromYAML([]byte("rules: [" + rules + "]"))
	require.NoError(t, err)
	conf, err := retrieved.AsConf()
	require.NoError(t, err)
	return set, conf.Unmarshal(&set)
}

func TestConfigFromYAML(t *testing.T) {
	empty := ""
	for _, row := range []struct {
		situation, yaml string
		change          func(*Config)
	}{
		{"only what is required", `{name: a, key: ['log.body']}`, func(c *Config) { c.Key = []string{"log.body"} }},
		{"one path with a comma", `{name: a, key: 'log.attributes["b,c"]'}`, func(c *Config) { c.Key = []string{`log.attributes["b,c"]`} }},
		{"one condition with a comma", `{name: a, key: log.body, conditions: 'IsMatch(log.body, "x")'}`, func(c *Config) {
			c.Key, c.Conditions = []string{"log.body"}, []string{`IsMatch(log.body, "x")`}
		}},
		{"one signal", `{name: a, key: scope.name, signals: logs}`, func(c *Config) {
			c.Key, c.Signals = []string{"scope.name"}, []string{SignalLogs}
		}},
		{"weight 1 as YAML reads it", `{name: a, key: log.body, weight: 1}`, func(c *Config) { c.Key = []string{"log.body"} }},
		{"weight 1.0", `{name: a, key: log.body, weight: 1.0}`, func(c *Config) { c.Key = []string{"log.body"} }},
		{"a name and a default that YAML takes for numbers", `{name: 5, key: log.body, default: 0}`, func(c *Config) {
			zero := "0"
			c.Name, c.Key, c.Default = "5", []string{"log.body"}, &zero
		}},
		{"an empty default", `{name: a, key: log.body, default: ""}`, func(c *Config) { c.Key, c.Default = []string{"log.body"}, &empty }},
		{"no default", `{name: a, key: log.body, default: }`, func(c *Config) { c.Key = []string{"log.body"} }},
		{"everything", `{
			name: a, key: [span.name, 'span.attributes["b"]'], default: "", group_by: 'resource.attributes["region"]', weight: bytes,
			weight_scale: 0.5, conditions: [span.kind == 2], k: 10, max_groups: 20, max_key_bytes: 300, signals: [traces], time: start,
			error_mode: propagate, accuracy: {epsilon: 0.01, delta: 0.1, residents: 100}}`, func(c *Config) {
			*c = Config{
				Name: "a", Key: []string{"span.name", `span.attributes["b"]`}, Default: &empty, GroupBy: `resource.attributes["region"]`,
				Weight: WeightBytes, WeightScale: 0.5, Conditions: []string{"span.kind == 2"}, K: 10, MaxGroups: 20, MaxKeyBytes: 300,
				Signals: []string{SignalTraces}, Time: TimeStart, ErrorMode: ErrorPropagate,
				Accuracy: AccuracyConfig{Epsilon: 0.01, Delta: 0.1, Residents: 100},
			}
		}},
	} {
		t.Run(row.situation, func(t *testing.T) {
			set, err := load(t, row.yaml)
			require.NoError(t, err)
			want := NewDefaultConfig()
			want.Name = "a"
			row.change(&want)
			require.Equal(t, []Config{want}, set.Rules)
			require.NoError(t, confmap.Validate(set))
		})
	}
}

func TestConfigRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, yaml := range []string{
		`{name: a, keys: [log.body]}`,
		`{name: a, key: {log: body}}`,
		`{name: a, key: log.body, k: many}`,
		`{name: a, key: log.body, accuracy: {error: 1}}`,
	} {
		_, err := load(t, yaml)
		require.Error(t, err, yaml)
	}
}

func TestConfigRulesKeepTheirOwnDefaults(t *testing.T) {
	set, err := load(t, `{name: a, key: log.body, k: 7}, {name: b, key: log.body}`)
	require.NoError(t, err)
	require.Equal(t, 7, set.Rules[0].K)
	require.Equal(t, 100, set.Rules[1].K)
}
