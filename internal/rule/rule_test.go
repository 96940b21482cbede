package rule

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"pgregory.net/rapid"
)

// fourRecords differ in tenant (a, missing, a value without content, b) and in route (r, r, missing, r).
func fourRecords() plog.Logs {
	return logsOf(4, func(i int, lr plog.LogRecord) {
		lr.SetSeverityNumber(plog.SeverityNumber(i))
		switch i {
		case 0, 3:
			lr.Attributes().PutStr("tenant", []string{"a", "", "", "b"}[i])
		case 2:
			lr.Attributes().PutEmpty("tenant")
		}
		if i != 2 {
			lr.Attributes().PutStr("route", "r")
		}
	})
}

func TestRecordsWithoutAKey(t *testing.T) {
	tenant, route := `log.attributes["tenant"]`, `log.attributes["route"]`
	fallback := "none"
	empty := ""
	for _, row := range []struct {
		situation string
		key       []string
		missing   *string
		keys      []string
		skipped   Skipped
	}{
		{"K3: are not counted", []string{tenant}, nil, []string{"a", "b"}, Skipped{MissingKey: 2}},
		{"K3: by one rule, and are by another", []string{route}, nil, []string{"r", "r", "r"}, Skipped{MissingKey: 1}},
		{"count under the default", []string{tenant}, &fallback, []string{"a", "none", "none", "b"}, Skipped{}},
		{"count under an empty default", []string{tenant}, &empty, []string{"a", "", "", "b"}, Skipped{}},
		{"K4: half a key is none", []string{tenant, route}, nil, []string{`["a","r"]`, `["b","r"]`}, Skipped{MissingKey: 2}},
		{"the default stands for each part", []string{tenant, route}, &fallback, []string{`["a","r"]`, `["none","r"]`, `["none","none"]`, `["b","r"]`}, Skipped{}},
	} {
		t.Run(row.situation, func(t *testing.T) {
			ld := fourRecords()
			ld.MarkReadOnly()
			b := countLogs(compiled(t, func(c *Config) { c.Key, c.Default = row.key, row.missing }), ld)
			require.Equal(t, row.keys, b.Keys)
			require.Equal(t, row.skipped, b.Skipped)
			require.Len(t, b.Times, len(b.Keys))
			require.Equal(t, 4, ld.LogRecordCount())
		})
	}
}

func TestConditionsAreORed(t *testing.T) {
	for _, row := range []struct {
		situation  string
		conditions []string
		keys       int
		skipped    Skipped
	}{
		{"none", nil, 3, Skipped{MissingKey: 1}},
		{"one", []string{"log.severity_number >= 3"}, 1, Skipped{Unmatched: 3}},
		{"two", []string{"log.severity_number >= 3", "log.severity_number == 0"}, 2, Skipped{Unmatched: 2}},
		{"none holds", []string{"false"}, 0, Skipped{Unmatched: 4}},
		{"leave out what is empty", []string{`log.attributes["tenant"] != nil and log.attributes["tenant"] != ""`}, 2, Skipped{Unmatched: 2}},
		{"one fails", []string{`Int(log.attributes["tenant"]) == 1`}, 0, Skipped{Errors: 2, Unmatched: 2}},
		{"one fails, another holds", []string{`Int(log.attributes["tenant"]) == 1`, "log.severity_number == 0"}, 1, Skipped{Errors: 1, Unmatched: 2}},
	} {
		t.Run(row.situation, func(t *testing.T) {
			b := countLogs(compiled(t, func(c *Config) { c.Key, c.Conditions = []string{`log.attributes["route"]`}, row.conditions }), fourRecords())
			require.Len(t, b.Keys, row.keys)
			require.Equal(t, row.skipped, b.Skipped)
			require.NoError(t, b.Err)
		})
	}
}

func TestFailedExpressions(t *testing.T) {
	fails := `ParseJSON(log.attributes["route"])["a"]`
	for _, row := range []struct {
		situation string
		change    func(*Config)
	}{
		{"key", func(c *Config) { c.Key = []string{fails} }},
		{"part of a key", func(c *Config) { c.Key = []string{"log.severity_number", fails} }},
		{"beside a missing part", func(c *Config) { c.Key = []string{fails, `log.attributes["none"]`} }},
		{"group", func(c *Config) { c.Key, c.GroupBy = []string{"log.severity_number"}, fails }},
		{"weight", func(c *Config) { c.Key, c.Weight = []string{"log.severity_number"}, fails }},
		{"condition", func(c *Config) { c.Key, c.Conditions = []string{"log.severity_number"}, []string{fails + ` == 1`} }},
	} {
		t.Run(row.situation, func(t *testing.T) {
			ld := logsOf(3, func(_ int, lr plog.LogRecord) { lr.Attributes().PutStr("route", "no json") })
			b := countLogs(compiled(t, row.change), ld)
			require.Empty(t, b.Keys)
			require.Equal(t, Skipped{Errors: 3}, b.Skipped)
			require.NoError(t, b.Err)

			b = countLogs(compiled(t, func(c *Config) { row.change(c); c.ErrorMode = ErrorPropagate }), ld)
			require.EqualError(t, b.Err, "an OTTL expression failed (error_mode: propagate)")
			require.Equal(t, Skipped{Errors: 3}, b.Skipped)
		})
	}
}

func TestGroups(t *testing.T) {
	r := compiled(t, func(c *Config) { c.Key, c.GroupBy = []string{"log.severity_number"}, `log.attributes["tenant"]` })
	ld := fourRecords()
	ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(1).Attributes().PutStr("tenant", "")
	b := countLogs(r, ld)
	require.Equal(t, []string{"0", "1", "2", "3"}, b.Keys)
	require.Equal(t, []Group{{ScopeGroup, "a"}, {ScopeGroup, ""}, {ScopeMissing, ""}, {ScopeGroup, "b"}}, b.Groups)
	require.True(t, r.Definition().Grouped())
}

func TestGroupsByResourceChangeWithTheResource(t *testing.T) {
	r := compiled(t, func(c *Config) {
		c.Key, c.GroupBy = []string{"scope.name", `resource.attributes["service"]`}, `resource.attributes["region"]`
		c.Signals = []string{SignalLogs}
	})
	ld := plog.NewLogs()
	for _, region := range []string{"eu", "", "us"} {
		rl := ld.ResourceLogs().AppendEmpty()
		rl.Resource().Attributes().PutStr("service", "s-"+region)
		if region != "" {
			rl.Resource().Attributes().PutStr("region", region)
		}
		for _, scope := range []string{"x", "y"} {
			sl := rl.ScopeLogs().AppendEmpty()
			sl.Scope().SetName(scope)
			sl.LogRecords().AppendEmpty()
		}
	}
	b := countLogs(r, ld)
	require.Equal(t, []string{`["x","s-eu"]`, `["y","s-eu"]`, `["x","s-"]`, `["y","s-"]`, `["x","s-us"]`, `["y","s-us"]`}, b.Keys)
	eu, missing, us := Group{ScopeGroup, "eu"}, Group{Scope: ScopeMissing}, Group{ScopeGroup, "us"}
	require.Equal(t, []Group{eu, eu, missing, missing, us, us}, b.Groups)
}

// Every record is in the columns or under exactly one reason, and nothing of the records changes.
func TestEveryRecordIsAccountedFor(t *testing.T) {
	paths := []string{
		`log.attributes["a"]`, `log.attributes["b"]`, "log.body", `resource.attributes["a"]`, "scope.name", `log.body["a"]`,
		`ParseJSON(log.attributes["a"])["b"]`, "log.severity_number", `Len(log.attributes["b"])`,
	}
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.SampledFrom(paths)
		r := compiled(t, func(c *Config) {
			c.Key = append([]string{"log.flags"}, rapid.SliceOfN(path, 0, 2).Draw(t, "key")...)
			c.GroupBy = rapid.OneOf(rapid.Just(""), path).Draw(t, "group_by")
			c.Weight = rapid.OneOf(rapid.SampledFrom([]string{WeightOne, WeightBytes}), path).Draw(t, "weight")
			c.Conditions = rapid.SliceOfN(rapid.Map(path, func(p string) string { return p + ` != "a"` }), 0, 2).Draw(t, "conditions")
		})
		ld := drawLogs(t)
		b := countLogs(r, ld)
		s := b.Skipped
		require.EqualValues(t, ld.LogRecordCount(), uint64(len(b.Keys))+s.Unmatched+s.MissingKey+s.BadWeight+s.Errors)
		require.Len(t, b.Times, len(b.Keys))
		if r.Config().Weight == WeightOne {
			require.Nil(t, b.Weights)
		} else {
			require.Len(t, b.Weights, len(b.Keys))
		}
		if r.Definition().Grouped() {
			require.Len(t, b.Groups, len(b.Keys))
		} else {
			require.Nil(t, b.Groups)
		}
	})
}

func TestRulesAreSafeForConcurrentUse(t *testing.T) {
	r := compiled(t, func(c *Config) {
		c.Key, c.GroupBy = []string{`log.attributes["tenant"]`, "log.severity_number"}, `Concat([log.attributes["route"], "x"], "-")`
		c.Conditions = []string{"log.severity_number >= 0"}
	})
	want := countLogs(r, fourRecords())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			b := new(Batch)
			for range 100 {
				b.Reset()
				r.Logs(fourRecords(), testNow, b)
				if len(b.Keys) != len(want.Keys) || b.Keys[1] != want.Keys[1] || b.Groups[0] != want.Groups[0] {
					t.Error(b.Keys, b.Groups)
				}
			}
		})
	}
	wg.Wait()
}

func TestSignalsOfOtherRulesAreNotCounted(t *testing.T) {
	r := compiled(t, func(c *Config) { c.Key = []string{"span.name"} })
	b := countLogs(r, fourRecords())
	require.Empty(t, b.Keys)
	require.Zero(t, b.Skipped)
}
