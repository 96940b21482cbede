package archive

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/otel-topk/collector/internal/rule"
)

func TestPathsOfFiles(t *testing.T) {
	f := File{Signal: rule.SignalLogs, Hour: 490935, Name: FileName("pod-1.eu_west", "0123456789abcdef")}
	require.Equal(t, "2026-01-02T15", f.Hour.String())
	require.Equal(t, "logs/year=2026/month=01/day=02/hour=15/pod-1.eu_west-0123456789abcdef.parquet", f.Path())
	for shard, name := range map[string]string{
		"":        "!-0123456789abcdef.parquet",
		"_hidden": "!5Fhidden-0123456789abcdef.parquet",
		"..":      "!2E.-0123456789abcdef.parquet",
		"a/b c!é": "a!2Fb!20c!21!C3!A9-0123456789abcdef.parquet",
	} {
		require.Equal(t, name, FileName(shard, "0123456789abcdef"))
	}
	long, other := FileName(strings.Repeat("s", 5000), "0123456789abcdef"), FileName(strings.Repeat("s", 5001), "0123456789abcdef")
	require.NotEqual(t, long, other)
	require.Len(t, long, maxShardBytes+len("-0123456789abcdef.parquet"))

	rapid.Check(t, func(t *rapid.T) {
		f := File{
			Signal: rapid.SampledFrom([]string{rule.SignalLogs, rule.SignalTraces}).Draw(t, "signal"),
			Hour:   Hour(rapid.Int64Range(-2562047, 2562047).Draw(t, "hour")), // all that nanoseconds can say
			Name:   FileName(weirdText().Draw(t, "shard"), fmt.Sprintf("%016x", rapid.Uint64().Draw(t, "segment"))),
		}
		require.NoError(t, checkPath(f.Path()))
		found, err := ParseFile(f.Path())
		require.NoError(t, err)
		require.Equal(t, f, found)
	})
}

func TestPathsThatAreNone(t *testing.T) {
	for _, path := range []string{
		"", "logs", "metrics/year=2026/month=01/day=02/hour=15/a-0123456789abcdef.parquet",
		"logs/a-0123456789abcdef.parquet", "logs/year=2026/month=01/day=02/a-0123456789abcdef.parquet",
		"logs/year=2026/month=01/day=02/hour=24/a-0123456789abcdef.parquet", "logs/year=2026/month=13/day=02/hour=15/a-0123456789abcdef.parquet",
		"logs/year=2026/month=1/day=02/hour=15/a-0123456789abcdef.parquet", "logs/year=2026/month=01/day=02/hour=15/sub/a-0123456789abcdef.parquet",
		"logs/year=2026/month=01/day=02/hour=15/a-0123456789abcde.parquet", "logs/year=2026/month=01/day=02/hour=15/a-0123456789ABCDEF.parquet",
		"logs/year=2026/month=01/day=02/hour=15/.a-0123456789abcdef.parquet.123.tmp", "logs/year=2026/month=01/day=02/hour=15/part-0.parquet",
		"logs/year=2026/month=01/day=02/hour=15/", "logs/year=2026/month=01/day=02/hour=15",
	} {
		_, err := ParseFile(path)
		require.ErrorContains(t, err, "is no file of records", path)
	}
}

func TestHoursBeforeTheEpoch(t *testing.T) {
	for ns, h := range map[int64]Hour{0: 0, 1: 0, 3600e9 - 1: 0, 3600e9: 1, -1: -1, -3600e9: -1, -3600e9 - 1: -2} {
		require.Equal(t, h, HourOf(ns), ns)
	}
	require.Equal(t, "1969-12-31T23", Hour(-1).String())
}

func TestNamesOfColumns(t *testing.T) {
	var paths, names []string
	for _, row := range []struct{ path, name string }{
		{`log.attributes["tenant.id"]`, "tenant_id"},
		{`span.attributes["tenant.id"]`, "tenant_id"}, // never in one file
		{` log.attributes[ "Tenant-ID" ] `, "log_tenant_id"},
		{`log.attributes["tenant id"]`, "log_tenant_id_2"},
		{`resource.attributes["cloud.region"]`, "resource_cloud_region"},
		{`scope.attributes["cloud.region"]`, "scope_cloud_region"},
		{`log.attributes["body"]`, "log_body"},
		{`log.attributes["time"]`, "log_time"},
		{`log.attributes["name"]`, "name"}, // a column of spans only
		{`span.attributes["body"]`, "body"},
		{`resource.attributes["schema_url"]`, "resource_schema_url_2"},
		{`log.attributes["日本"]`, "__"},
		{`log.attributes[""]`, "log_"},
		{`log.attributes["404"]`, "log_404"},
		{`log.attributes["a"]`, "a"},
		{`log.attributes["a_type"]`, "log_a_type"},
		{`log.attributes["quote\"d\\"]`, "quote_d_"},
	} {
		paths, names = append(paths, row.path), append(names, row.name)
	}
	columns, err := ParseColumns(paths)
	require.NoError(t, err)
	var found []string
	for i, c := range columns {
		require.Equal(t, paths[i], c.Path)
		found = append(found, c.Name)
	}
	require.Equal(t, names, found)
	for _, signal := range []string{rule.SignalLogs, rule.SignalTraces} { // each name once
		l := layoutOf(signal, columnsOf(signal, columns))
		seen := map[string]bool{}
		for _, name := range l.names {
			require.False(t, seen[name], name)
			seen[name] = true
		}
	}
}

func TestColumnsThatAreNone(t *testing.T) {
	_, err := ParseColumns([]string{
		"log.body", `attributes["a"]`, `spanevent.attributes["a"]`, `log.attributes["a"]["b"]`, `log.attributes["ok"]`, `log.attributes["ok"]`,
		`log.attributes`, "log.attributes[\"\xff\"]", "",
	})
	for _, i := range []int{0, 1, 2, 3, 5, 6, 7, 8} {
		require.ErrorContains(t, err, fmt.Sprintf("columns[%d]", i))
	}
	require.NotContains(t, err.Error(), "columns[4]: ")
	_, err = ParseColumns(make([]string, MaxColumns+1))
	require.ErrorContains(t, err, "201 are too many, allowed are 200")
}
