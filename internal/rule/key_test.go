package rule

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"pgregory.net/rapid"

	"github.com/otel-topk/collector/topk"
)

// keyed is a definition with n parts.
func keyed(n, maxKeyBytes int) *Definition {
	return &Definition{Key: make([]string, n), MaxKeyBytes: maxKeyBytes, Shape: topk.Shape{Seed: 7}}
}

func TestKeyOf(t *testing.T) {
	long := strings.Repeat("x", 100)
	for _, row := range []struct {
		situation string
		parts     []string
		max       int
		want      string
	}{
		{"K5: empty", []string{""}, 64, ""},
		{"K6: what paths and URLs are made of", []string{"/a//..%2F?#+"}, 64, "/a//..%2F?#+"},
		{"K7: invalid UTF-8", []string{"a\xff\xfeb\xc3"}, 64, "a\uFFFDb\uFFFD"},
		{"K8: a comma in the first part", []string{"a,b", "c"}, 112, `["a,b","c"]`},
		{"K8: a comma in the second part", []string{"a", "b,c"}, 112, `["a","b,c"]`},
		{"K8: quotes and brackets", []string{`a"],["b`, `\`}, 112, `["a\"],[\"b","\\"]`},
		{"parts that are empty", []string{"", ""}, 112, `["",""]`},
		{"a part that is an array", []string{`["a"]`, "b"}, 112, `["[\"a\"]","b"]`},
		{"control characters", []string{"\x00\b\t\n\f\r\x1f\x7f", "b"}, 112, `["\u0000\b\t\n\f\r\u001f` + "\x7f" + `","b"]`},
		{"no escapes for HTML", []string{"<&>\u2028", "b"}, 112, "[\"<&>\u2028\",\"b\"]"},
		{"invalid UTF-8 in one part", []string{"\xff", "b"}, 112, "[\"\uFFFD\",\"b\"]"},
		{"as long as allowed", []string{long[:64]}, 64, long[:64]},
		{"one byte too long", []string{long[:65]}, 64, long[:32] + "7355a996da8d94abdeef1bf38cb32e07"},
	} {
		t.Run(row.situation, func(t *testing.T) {
			got := keyed(len(row.parts), row.max).KeyOf(row.parts...)
			require.Equal(t, row.want, got)
		})
	}
}

func TestCutKeys(t *testing.T) {
	long := strings.Repeat("日", 100)
	for _, row := range []struct {
		situation string
		parts     []string
		max       int
		beginning string
	}{
		{"cut at the beginning of a rune", []string{long}, 65, "日日日日日日日日日日日"},
		{"exactly filled by runes", []string{long}, 65 - 2, "日日日日日日日日日日"},
		{"the long part of two", []string{"short", long}, 112, `["short","日日日日日日日日日日日日日日日日日日`},
		{"both parts", []string{long, long}, 112, `["日日日日日`},
		{"escapes are cut whole", []string{strings.Repeat(`"`, 100), "b"}, 112, `["\"\"\"\"\"\"\"\"\"\"\"\"\"\"`},
	} {
		t.Run(row.situation, func(t *testing.T) {
			d := keyed(len(row.parts), row.max)
			got := d.KeyOf(row.parts...)
			require.LessOrEqual(t, len(got), row.max)
			require.Greater(t, len(got), row.max-8, "no more is cut than needed")
			require.True(t, strings.HasPrefix(got, row.beginning), got)
			require.Equal(t, got, d.KeyOf(d.Parts(got)...), "a cut key asks for itself")

			reseeded := *d
			reseeded.Shape.Seed++
			require.NotEqual(t, got, reseeded.KeyOf(row.parts...), "the seed decides")
			require.NotEqual(t, got, d.KeyOf(append([]string{row.parts[0] + "x"}, row.parts[1:]...)...), "the whole decides")
		})
	}
}

func TestKeysAreBoundedAndUTF8AndTellPartsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "parts")
		d := keyed(n, rapid.IntRange(leastKeyBytes(n), 400).Draw(t, "max_key_bytes"))
		holdKeyOf(t, d, rapid.SliceOfN(weirdText(), n, n).Draw(t, "parts"))
	})
}

// A definition that came over the wire may be of any size.
func TestKeysOfHostileDefinitions(t *testing.T) {
	for _, limit := range []int{-1, 0, 1, 31, 33, 50} {
		for n := range 4 {
			d := keyed(n, limit)
			key := d.KeyOf(make([]string, n)...)
			require.True(t, utf8.ValidString(d.KeyOf(strings.Repeat("é", 50), "", "b")))
			require.NotNil(t, d.Parts(key))
		}
	}
	require.Equal(t, []string{`[1,"a"]`}, keyed(2, 112).Parts(`[1,"a"]`))
}

func FuzzKeyOf(f *testing.F) {
	for _, seed := range []string{"", "a,b", `"`, "\\", "\xff", "\x00", "日本", strings.Repeat("é", 200)} {
		f.Add(seed, "c", uint16(0), true)
		f.Add(seed, seed, uint16(100), false)
	}
	f.Fuzz(func(t *testing.T, one, two string, more uint16, composite bool) {
		parts := []string{one, two}
		if !composite {
			parts = parts[:1]
		}
		holdKeyOf(t, keyed(len(parts), leastKeyBytes(len(parts))+int(more)), parts)
	})
}

// holdKeyOf is the law of keys: valid UTF-8 of at most MaxKeyBytes; what was not cut gives its parts back, so no two lists
// of parts share a key; a key asks for itself; and a record with these parts counts under it.
func holdKeyOf(t require.TestingT, d *Definition, parts []string) {
	key := d.KeyOf(parts...)
	require.True(t, utf8.ValidString(key))
	require.LessOrEqual(t, len(key), d.MaxKeyBytes)
	require.Equal(t, key, d.KeyOf(d.Parts(key)...))

	repaired := make([]string, len(parts))
	for i, p := range parts {
		repaired[i] = strings.ToValidUTF8(p, "\uFFFD")
	}
	whole := *d
	whole.MaxKeyBytes = topk.MaxKeyBytes
	uncut := whole.KeyOf(parts...)
	require.Equal(t, repaired, whole.Parts(uncut))
	if len(uncut) <= d.MaxKeyBytes {
		require.Equal(t, uncut, key)
	}
	if len(parts) > 1 {
		require.True(t, json.Valid([]byte(key)), key)
		require.Len(t, d.Parts(key), len(parts))
	}
}

// What a record counts under is what KeyOf makes of the texts of its parts.
func TestRecordsCountUnderKeyOf(t *testing.T) {
	paths := []string{`log.attributes["0"]`, `log.attributes["1"]`, `log.attributes["2"]`}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3).Draw(t, "parts")
		r := compiled(t, func(c *Config) {
			c.Key = paths[:n]
			c.MaxKeyBytes = rapid.IntRange(leastKeyBytes(n), 200).Draw(t, "max_key_bytes")
		})
		parts := make([]string, n)
		ld := logsOf(1, func(_ int, lr plog.LogRecord) {
			for i := range n {
				v := lr.Attributes().PutEmpty(string(rune('0' + i)))
				fillValue(t, v, 2)
				if v.Type() == pcommon.ValueTypeEmpty {
					v.SetStr("")
				}
				parts[i] = textOf(v)
			}
		})
		b := countLogs(r, ld)
		require.Equal(t, []string{r.Definition().KeyOf(parts...)}, b.Keys)
	})
}

// The same long text is one key, and one group.
func TestGroupNamesAreCutAsKeysAre(t *testing.T) {
	long := strings.Repeat("é", 100) + "\xff"
	r := compiled(t, func(c *Config) {
		c.Key, c.GroupBy, c.MaxKeyBytes = []string{`log.attributes["k"]`}, `log.attributes["k"]`, 64
	})
	b := countLogs(r, logsOf(1, func(_ int, lr plog.LogRecord) { lr.Attributes().PutStr("k", long) }))
	require.Equal(t, []Group{r.Definition().GroupOf(long)}, b.Groups)
	require.Equal(t, []string{b.Groups[0].Name}, b.Keys)
	require.LessOrEqual(t, len(b.Keys[0]), 64)
	require.Equal(t, Skipped{CutKeys: 2, Repaired: 2}, b.Skipped)
}
