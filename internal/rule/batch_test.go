package rule

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
)

func TestResetBatchServesAnotherRule(t *testing.T) {
	ld := fourRecords()
	b := new(Batch)
	full := compiled(t, func(c *Config) {
		c.Key, c.GroupBy, c.Weight, c.ErrorMode = []string{`log.attributes["route"]`, `Int(log.attributes["tenant"])`}, "log.severity_number", WeightBytes, ErrorPropagate
	})
	plain := compiled(t, func(c *Config) { c.Key = []string{"log.severity_number"} })
	for range 2 {
		full.Logs(ld, testNow, b)
		require.Error(t, b.Err)
		b.Reset()
		require.Equal(t, []any{0, 0, 0, 0, Skipped{}, nil}, []any{len(b.Keys), len(b.Weights), len(b.Groups), len(b.Times), b.Skipped, b.Err})

		plain.Logs(ld, testNow, b)
		require.Equal(t, []string{"0", "1", "2", "3"}, b.Keys)
		require.Nil(t, b.Weights)
		require.Nil(t, b.Groups)
		b.Reset()
	}
}

func TestBatchTakesSeveralRequests(t *testing.T) {
	r := compiled(t, func(c *Config) {
		c.Key, c.GroupBy, c.Weight = []string{`log.attributes["route"]`}, `log.attributes["tenant"]`, WeightBytes
	})
	b := new(Batch)
	r.Logs(plog.NewLogs(), testNow, b)
	r.Logs(fourRecords(), testNow, b)
	r.Logs(fourRecords(), testNow, b)
	for _, n := range []int{len(b.Keys), len(b.Weights), len(b.Groups), len(b.Times)} {
		require.Equal(t, 6, n)
	}
}

func TestRenderedTextStaysAsItWas(t *testing.T) {
	var a arena
	var made []string
	for i := range 10_000 {
		made = append(made, a.string([]byte(strings.Repeat("x", i%97)+"y")))
	}
	long := a.string(make([]byte, 2*textChunk))
	require.Len(t, long, 2*textChunk)
	for i, s := range made {
		require.Equal(t, strings.Repeat("x", i%97)+"y", s)
	}
}

// Nothing is allocated per record: at most one chunk of text for many of them.
func TestWalkingAllocatesNothingPerRecord(t *testing.T) {
	ld := benchLogs()
	for _, change := range []func(*Config){
		func(c *Config) { c.Key = []string{`log.attributes["tenant.id"]`} },
		func(c *Config) { c.Key = []string{`log.attributes["http.status_code"]`} },
		func(c *Config) { c.Key = []string{"log.time_unix_nano"} },
		func(c *Config) {
			c.Key = []string{`log.attributes["tenant.id"]`, `resource.attributes["service.name"]`}
		},
		func(c *Config) {
			c.Key, c.GroupBy, c.Weight = []string{"log.body"}, `resource.attributes["cloud.region"]`, `log.attributes["http.status_code"]`
		},
	} {
		r := compiled(t, change)
		b := new(Batch)
		perBatch := testing.AllocsPerRun(50, func() {
			b.Reset()
			r.Logs(ld, testNow, b)
		})
		require.LessOrEqual(t, perBatch, float64(benchRecords*64/textChunk+1), "%v", r.Definition().Key)
	}
}

func TestABatchKeepsTheAttributesOfWhatItFoundWhereItIsAsked(t *testing.T) {
	r := compiled(t, func(c *Config) { c.Key = []string{`log.attributes["k"]`} })
	ld := plog.NewLogs()
	records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for _, key := range []string{"a", "", "b"} {
		if lr := records.AppendEmpty(); key != "" {
			lr.Attributes().PutStr("k", key)
		}
	}
	var b Batch
	r.Logs(ld, 1, &b)
	require.Empty(t, b.Attributes)
	b.Reset()
	b.KeepAttributes = true
	r.Logs(ld, 1, &b)
	require.Len(t, b.Attributes, 2)
	for i, key := range b.Keys {
		require.Equal(t, map[string]any{"k": key}, b.Attributes[i].AsRaw())
	}
	b.Forget()
	require.Equal(t, Skipped{MissingKey: 1}, b.Skipped)
	require.Empty(t, b.Keys)
	require.Empty(t, b.Attributes)
	require.True(t, b.KeepAttributes)
}
