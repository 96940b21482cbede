package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/topk"
)

// travelled is what the tests of the format hold it to.
const travelled = "../../internal/wire/testdata"

func TestWhatTravelsIsDecoded(t *testing.T) {
	for _, name := range []string{"messages", "publications", "rollups", "tiers"} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := command(t, "decode", "-k", "2", filepath.Join(travelled, name+".pb"))
			require.Zero(t, code, stderr)
			golden := filepath.Join("testdata", "decoded", name+".yaml")
			if *rewrite {
				require.NoError(t, os.WriteFile(golden, []byte(stdout), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			assert.Equal(t, string(want), stdout)
			_, again, _ := command(t, "decode", "-k", "2", filepath.Join(travelled, name+".json"))
			assert.Equal(t, stdout, again, "the same as JSON")
		})
	}
}

func write(t *testing.T, data []byte) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, data, 0o600))
	return file
}

func TestASummaryIsDecoded(t *testing.T) {
	s, err := topk.New(8, topk.Shape{Width: 16, Depth: 3})
	require.NoError(t, err)
	for key, weight := range map[string]uint64{"acme": 7, "\x1b[31mred": 5, "true": 3} {
		require.NoError(t, s.Add(key, weight))
	}
	data, err := s.MarshalBinary()
	require.NoError(t, err)
	code, stdout, stderr := command(t, "decode", write(t, data))
	require.Zero(t, code, stderr)
	assert.Equal(t, `---
kind: summary
summary:
  records: 3
  total: 15
  total_upper: 15
  distinct: 3
  theta: 0
  residents: 3
  capacity: 8
  width: 16
  depth: 3
  items:
    - rank: 1
      key: acme
      estimate: 7
      lower: 7
    - rank: 2
      key: "\e[31mred"
      estimate: 5
      lower: 5
    - rank: 3
      key: "true"
      estimate: 3
      lower: 3
`, stdout)
	_, stdout, _ = command(t, "decode", "--output", "json", "-k", "1", write(t, data))
	assert.Equal(t, `{"kind":"summary","summary":{"records":3,"total":15,"total_upper":15,"distinct":3,"theta":0,"residents":3,"capacity":8,`+
		`"width":16,"depth":3,"items":[{"rank":1,"key":"acme","estimate":7,"lower":7}]}}`+"\n", stdout)
}

func TestWhatCannotBeDecodedIsToldAndTheRestIsShown(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(travelled, "messages.json"))
	require.NoError(t, err)
	ld, err := new(plog.JSONUnmarshaler).UnmarshalLogs(data)
	require.NoError(t, err)
	ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	mixed, err := new(plog.ProtoMarshaler).MarshalLogs(ld)
	require.NoError(t, err)

	code, stdout, stderr := command(t, "decode", "-o", "json", write(t, mixed))
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, stdout, `"kind":"state"`)
	assert.Contains(t, stderr, "scope: none of")

	for _, row := range []struct {
		data string
		want string
	}{
		{"", "nor an OTLP request of logs (it is empty)"},
		{"x", "neither a summary (topk: not a summary: "},
		{"{", "nor an OTLP request of logs (unexpected EOF)"},
		{"{}\n[]", "nor an OTLP request of logs (request 2: "},
	} {
		code, stdout, stderr := command(t, "decode", write(t, []byte(row.data)))
		assert.Equal(t, exitFailed, code, row.data)
		assert.Empty(t, stdout)
		assert.Contains(t, stderr, row.want)
	}
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{"none"}, "open none: "},
		{[]string{"a", "b"}, "2 arguments: one FILE is decoded"},
		{[]string{"-k", "0"}, "--k: 0 is not in 1..1000000"},
		{[]string{"-o", "table"}, `--output: "table" is neither yaml nor json`},
	} {
		code, _, stderr := command(t, append([]string{"decode"}, row.args...)...)
		assert.Equal(t, exitUsage, code)
		assert.Contains(t, stderr, row.want)
	}
}
