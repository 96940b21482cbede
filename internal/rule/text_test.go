package rule

import (
	"encoding/json"
	"math"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"pgregory.net/rapid"
)

func fromRaw(t *testing.T, raw any) pcommon.Value {
	t.Helper()
	v := pcommon.NewValueEmpty()
	require.NoError(t, v.FromRaw(raw))
	return v
}

// K1, K2: a value of any type counts under its text, never under "".
func TestKeysOfEveryTypeCountUnderOneText(t *testing.T) {
	twins := pcommon.NewValueMap() // the same name twice, as a broken sender may write it
	require.NoError(t, twins.FromRaw(map[string]any{"a": 1, "b": 2}))
	for _, row := range []struct {
		situation string
		raw       any
		want      string
	}{
		{"text", "200", "200"},
		{"integer", 200, "200"},
		{"whole double", 200.0, "200"},
		{"negative integer", -7, "-7"},
		{"smallest integer", int64(math.MinInt64), "-9223372036854775808"},
		{"integer beyond the table of small ones", 1000, "1000"},
		{"fraction", 0.1, "0.1"},
		{"zero", 0.0, "0"},
		{"negative zero", math.Copysign(0, -1), "0"},
		{"large double", 1e20, "100000000000000000000"},
		{"larger double", 1e21, "1e+21"},
		{"largest double", math.MaxFloat64, "1.7976931348623157e+308"},
		{"small double", 1e-6, "0.000001"},
		{"smaller double", 1.5e-7, "1.5e-7"},
		{"smallest double", 5e-324, "5e-324"},
		{"not a number", math.NaN(), "NaN"},
		{"infinity", math.Inf(1), "Infinity"},
		{"negative infinity", math.Inf(-1), "-Infinity"},
		{"true", true, "true"},
		{"false", false, "false"},
		{"bytes", []byte{0, 1, 255, 62, 63}, "AAH/Pj8="},
		{"no bytes", []byte{}, ""},
		{"empty text", "", ""},
		{"empty list", []any{}, "[]"},
		{"empty map", map[string]any{}, "{}"},
		{"list of every type", []any{"a", 1, 1.5, true, nil, []byte{1}, []any{}, map[string]any{}}, `["a",1,1.5,true,null,"AQ==",[],{}]`},
		{"list of no numbers", []any{math.NaN(), math.Inf(1), math.Inf(-1)}, `["NaN","Infinity","-Infinity"]`},
		{"map", map[string]any{"b": 1, "a": map[string]any{"z": "é<&>", "y": nil}}, `{"a":{"y":null,"z":"é<&>"},"b":1}`},
		{"map with odd names", map[string]any{"": 1, `"`: 2, "é": 3, "z": 4}, `{"":1,"\"":2,"z":4,"é":3}`},
	} {
		t.Run(row.situation, func(t *testing.T) {
			r := compiled(t, func(c *Config) { c.Key = []string{`log.attributes["k"]`} })
			v := fromRaw(t, row.raw)
			b := countLogs(r, logsOf(1, func(_ int, lr plog.LogRecord) { v.CopyTo(lr.Attributes().PutEmpty("k")) }))
			require.Equal(t, []string{row.want}, b.Keys)
			require.Zero(t, b.Skipped)
		})
	}
}

func TestMapsHaveOneTextInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := pcommon.NewMap()
		fillMap(t, m, 2, rapid.StringN(0, 3, -1))
		type entry struct {
			key   string
			value pcommon.Value
		}
		var entries []entry
		for k, v := range m.All() {
			entries = append(entries, entry{k, v})
		}
		one, two := pcommon.NewValueMap(), pcommon.NewValueMap()
		m.CopyTo(one.Map())
		for _, e := range rapid.Permutation(entries).Draw(t, "order") {
			e.value.CopyTo(two.Map().PutEmpty(e.key))
		}
		require.Equal(t, textOf(one), textOf(two))
	})
}

// Two values of one type with the same text are the same value.
func TestJSONTextReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := pcommon.NewValueEmpty()
		fillValue(t, v, 3)
		if v.Type() != pcommon.ValueTypeMap && v.Type() != pcommon.ValueTypeSlice {
			return
		}
		s, _ := repair(textOf(v))
		require.True(t, json.Valid([]byte(s)), s)
		var decoded any
		require.NoError(t, json.Unmarshal([]byte(s), &decoded))
	})
}

func TestDoublesReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyDouble().Draw(t, "double")
		s := string(appendDouble(nil, f))
		if math.IsNaN(f) || math.IsInf(f, 0) {
			require.Contains(t, []string{"NaN", "Infinity", "-Infinity"}, s)
			return
		}
		var back float64
		require.NoError(t, json.Unmarshal([]byte(s), &back))
		require.Equal(t, f, back+0) // 0 for both zeros
		if want, err := json.Marshal(f); err == nil && f != 0 {
			require.Equal(t, string(want), s)
		}
	})
}

func TestJSONStringsAreWhatJSONReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, repaired := repair(weirdText().Draw(t, "text"))
		require.True(t, utf8.ValidString(s))
		var back string
		require.NoError(t, json.Unmarshal(appendJSONString(nil, s), &back))
		require.Equal(t, s, back)
		again, repairedAgain := repair(s)
		require.Equal(t, s, again)
		require.False(t, repairedAgain, repaired)
	})
}

func textOf(p pcommon.Value) string {
	var v value
	v.setValue(p)
	return string(appendText(nil, &v))
}
