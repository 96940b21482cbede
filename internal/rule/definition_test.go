package rule

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/topk"
)

func TestFingerprintCoversWhatDecidesTheCounts(t *testing.T) {
	def := func() *Definition {
		none := "none"
		return &Definition{
			Name: "a", Signals: []string{SignalLogs, SignalTraces}, Key: []string{"x", "y"}, GroupBy: "g", Weight: "w", WeightScale: 2,
			Conditions: []string{"c"}, Default: &none, Time: TimeStart, K: 10, MaxKeyBytes: 256, Residents: 640,
			Shape: topk.Shape{Width: 2719, Depth: 5, Seed: 7},
		}
	}
	want := def().Fingerprint()
	require.Equal(t, "ff17094ebca77e091e56b09cdf6d75ef", want, "a change of the fingerprint parts a fleet during its upgrade")

	empty := ""
	changed := map[string]func(*Definition){
		"Signals":         func(d *Definition) { d.Signals = d.Signals[:1] },
		"Key":             func(d *Definition) { d.Key = []string{"xy"} },
		"Key joined":      func(d *Definition) { d.Key = []string{"x", "y", ""} },
		"GroupBy":         func(d *Definition) { d.GroupBy = "" },
		"Weight":          func(d *Definition) { d.Weight = WeightOne },
		"WeightScale":     func(d *Definition) { d.WeightScale = 3 },
		"Conditions":      func(d *Definition) { d.Conditions = nil },
		"Default":         func(d *Definition) { d.Default = nil },
		"Default empty":   func(d *Definition) { d.Default = &empty },
		"Time":            func(d *Definition) { d.Time = "" },
		"MaxKeyBytes":     func(d *Definition) { d.MaxKeyBytes++ },
		"Shape width":     func(d *Definition) { d.Shape.Width++ },
		"Shape depth":     func(d *Definition) { d.Shape.Depth++ },
		"Shape":           func(d *Definition) { d.Shape.Seed++ },
		"moved to weight": func(d *Definition) { d.GroupBy, d.Weight = "gw", "" },
	}
	seen := map[string]string{want: "unchanged"}
	for name, change := range changed {
		d := def()
		change(d)
		require.NotContains(t, seen, d.Fingerprint(), name)
		seen[d.Fingerprint()] = name
	}

	same := map[string]func(*Definition){
		"Name":          func(d *Definition) { d.Name = "b" },
		"K":             func(d *Definition) { d.K = 500 },
		"Residents":     func(d *Definition) { d.Residents = 3000 },
		"signals order": func(d *Definition) { d.Signals = []string{SignalTraces, SignalLogs} },
	}
	for name, change := range same {
		d := def()
		change(d)
		require.Equal(t, want, d.Fingerprint(), name)
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Definition]()) {
		_, decides := changed[field.Name]
		_, not := same[field.Name]
		require.True(t, decides || not, "%s is in neither table", field.Name)
	}
}

func TestScopes(t *testing.T) {
	for s, name := range scopeNames {
		require.Equal(t, name, Scope(s).String())
		parsed, err := ParseScope(name)
		require.NoError(t, err)
		require.Equal(t, Scope(s), parsed)
	}
	require.Equal(t, "Scope(4)", Scope(4).String())
	_, err := ParseScope("all")
	require.EqualError(t, err, `scope: "all" is not one of global, group, missing, overflow`)
}

func TestDefinitionIsWhatWasConfigured(t *testing.T) {
	none := "none"
	r := compiled(t, func(c *Config) {
		c.Key, c.Default, c.GroupBy, c.Weight, c.WeightScale = []string{"span.name"}, &none, "span.kind", WeightBytes, 2
		c.Conditions, c.Time, c.K, c.MaxKeyBytes = []string{"true"}, TimeStart, 200, 300
	})
	shape, err := topk.NewShape(0.001, 0.01, 1)
	require.NoError(t, err)
	require.Equal(t, &Definition{
		Name: "test", Signals: []string{SignalTraces}, Key: []string{"span.name"}, Default: &none, GroupBy: "span.kind", Weight: WeightBytes,
		WeightScale: 2, Conditions: []string{"true"}, Time: TimeStart, K: 200, MaxKeyBytes: 300, Residents: 1200, Shape: shape,
	}, r.Definition())
	require.Equal(t, 500, r.Config().MaxGroups)
}
