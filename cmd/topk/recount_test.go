package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/recount"
)

var rewrite = flag.Bool("rewrite", false, "write the outputs in testdata anew")

var start = time.Date(2026, 1, 2, 15, 0, 0, 0, time.UTC)

// newArchive is a folder with one hour of 60 records in two files; one tenant would play tricks on a terminal.
func newArchive(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	store, err := archive.OpenStore(t.Context(), "file://"+folder)
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	for f := range 2 {
		segment := fmt.Sprintf("%016x", f)
		name := archive.File{Signal: "logs", Hour: archive.HourOf(start.UnixNano()), Name: archive.FileName("shard", segment)}
		_, err := store.Put(t.Context(), name.Path(), func(w io.Writer) error {
			out, err := archive.NewWriter(w, archive.Meta{Signal: name.Signal, Hour: name.Hour, Shard: "shard", Segment: segment})
			require.NoError(t, err)
			for i := range 30 {
				rl := plog.NewResourceLogs()
				if i%10 > 0 {
					rl.Resource().Attributes().PutStr("region", []string{"eu", "us"}[i%2])
				}
				record := rl.ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
				record.SetTimestamp(pcommon.NewTimestampFromTime(start.Add(time.Duration(i) * time.Minute)))
				if i%15 > 0 {
					record.Attributes().PutStr("tenant", []string{"acme", "acme", "example", "\x1b[31mred"}[i%4])
				}
				record.Attributes().PutStr("route", []string{"/cart", "/health"}[f])
				record.Attributes().PutInt("size", int64(i))
				require.NoError(t, out.Log(rl, rl.ScopeLogs().At(0), record, start.UnixNano()))
			}
			return out.Close()
		})
		require.NoError(t, err)
	}
	return folder
}

// runTopk runs the command over the hour, or with what args say otherwise.
func runTopk(t *testing.T, folder string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, problems bytes.Buffer
	code = run(t.Context(), append([]string{
		"recount", "--archive", "file://" + folder, "--rules", "testdata/rules.yaml", "--rule", "tenants",
		"--from", "2026-01-02T15:00:00Z", "--to", "2026-01-02T16:00:00Z",
	}, args...), &out, &problems)
	return code, out.String(), problems.String()
}

func TestOutputs(t *testing.T) {
	folder := newArchive(t)
	for _, row := range []struct {
		name string
		args []string
	}{
		{"list", nil},
		{"all_lists", []string{"--scope", "all", "-k", "2"}},
		{"group", []string{"--group", "eu"}},
		{"missing", []string{"--scope", "missing"}},
		{"keys", []string{"--key", "acme", "--key", "never", "--key", "acme"}},
		{"composite_keys", []string{"--rule", "routes", "--key", `["acme", "/cart"]`}},
		{"half_an_hour", []string{"--rule", "routes", "--to", "1767367800"}},
		{"hours_without_a_file", []string{"--from", "2026-01-02T14:59:00Z", "--to", "2026-01-02T17:30:00Z"}},
		{"json", []string{"--output", "json", "--scope", "all", "--from", "2026-01-02T14:00:00Z"}},
		{"json_keys", []string{"--output", "json", "--rule", "routes", "--key", `["acme", "/cart"]`}},
	} {
		t.Run(row.name, func(t *testing.T) {
			code, stdout, stderr := runTopk(t, folder, row.args...)
			require.Zero(t, code, stderr)
			require.Empty(t, stderr)
			golden := filepath.Join("testdata", row.name+".txt")
			if *rewrite {
				require.NoError(t, os.WriteFile(golden, []byte(stdout), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), stdout)
		})
	}
}

func TestWrongUsageNamesTheFlagAndWhatIsAllowed(t *testing.T) {
	folder := newArchive(t)
	for _, row := range []struct {
		situation string
		args      []string
		want      string
	}{
		{"unknown rule", []string{"--rule", "x"}, `--rule: "x" is not in testdata/rules.yaml; there are: tenants, routes, pseudonyms, points`},
		{"no file of rules", []string{"--rules", "none.yaml"}, `--rules: cannot read none.yaml: `},
		{"a file of something else", []string{"--rules", "testdata/one.yaml"}, `--rules: testdata/one.yaml is no YAML list of rules`},
		{"a seed that a rule needs", []string{"--rule", "pseudonyms"}, "a pseudonym needs the secret seed"},
		{"data points", []string{"--rule", "points"}, "--rule: points counts data points, which are not archived"},
		{"an archive of no kind", []string{"--archive", "ftp://x"}, "--archive: "},
		{"no moment", []string{"--from", "noon"}, `--from: "noon" is neither a time such as 2026-01-02T15:00:00Z, nor a day, nor seconds since 1970`},
		{"no directory", []string{"--directory", "testdata/none"}, "--directory: testdata/none is no folder that is there"},
		{"a file as directory", []string{"--directory", "testdata/one.yaml"}, "--directory: testdata/one.yaml is no folder that is there"},
		{"a long grace", []string{"--grace", "25h"}, "--grace: 25h0m0s is not in 0s..24h0m0s"},
		{"before time", []string{"--from", "1900-01-01T00:00:00Z"}, "--from: 1900-01-01T00:00:00Z is not in the years 1970 to 2261"},
		{"inverted", []string{"--to", "2026-01-02T14:00:00Z"}, "--to: 2026-01-02T14:00:00Z is not after --from 2026-01-02T15:00:00Z"},
		{"all problems at once", []string{"--k", "0", "--output", "xml"}, "--k: 0 is not in 1..1000000\n--output: \"xml\" is neither table nor json"},
		{"k with keys", []string{"--key", "a", "--k", "3"}, "--k: does not go with --key"},
		{"half a composite key", []string{"--rule", "routes", "--key", `["a"]`}, `--key: "[\"a\"]" is no JSON array of 2 texts, the parts of the key of rule routes`},
		{"little memory", []string{"--memory-limit", "16383KiB"}, "--memory-limit: 16383KiB is less than 16777216 bytes (16MiB)"},
		{"no size", []string{"--memory-limit", "much"}, `--memory-limit: "much" is no size in bytes, KiB, MiB or GiB, such as 512MiB`},
		{"an enormous size", []string{"--memory-limit", "9223372036854775807GiB"}, "is no size"},
		{"a scope", []string{"--scope", "overflow"}, `--scope: "overflow" is not one of global, missing, all; a group's list is asked for by --group`},
		{"a group and a scope", []string{"--scope", "missing", "--group", "eu"}, "--group: does not go with --scope missing"},
		{"a group of a rule without", []string{"--rule", "routes", "--group", "eu"}, "--group: rule routes has no group_by"},
		{"a scope of a rule without", []string{"--rule", "routes", "--scope", "all"}, "--scope: rule routes has no group_by; allowed: global"},
		{"an argument", []string{"more"}, `argument "more": there are only flags, see topk recount --help`},
		{"an unknown flag", []string{"--rulez", "x"}, "unknown flag: --rulez"},
	} {
		t.Run(row.situation, func(t *testing.T) {
			code, stdout, stderr := runTopk(t, folder, row.args...)
			require.Equal(t, exitUsage, code)
			require.Empty(t, stdout)
			require.True(t, strings.HasPrefix(stderr, "topk: "), stderr)
			require.Contains(t, stderr, row.want)
		})
	}
	var out, problems bytes.Buffer
	require.Equal(t, exitUsage, run(t.Context(), []string{"recount"}, &out, &problems))
	require.Equal(t, "topk: required flag(s) \"archive\", \"rules\", \"rule\", \"from\", \"to\" not set\n", problems.String())
}

func TestAMistypedCommandIsTakenForTheNearest(t *testing.T) {
	var out, problems bytes.Buffer
	require.Equal(t, exitUsage, run(t.Context(), []string{"recont"}, &out, &problems))
	require.Equal(t, "topk: unknown command \"recont\" for \"topk\"\n\nDid you mean this?\n\trecount\n", problems.String())
}

func TestAKeyThatNeverCameCountsZero(t *testing.T) {
	code, stdout, stderr := runTopk(t, newArchive(t), "--key", "never", "--output", "json")
	require.Zero(t, code, stderr)
	var r report
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	require.Equal(t, []itemJSON{{Key: "never", Parts: []string{"never"}}}, r.Results[0].Items)
}

func TestADamagedFileFailsOrIsNamed(t *testing.T) {
	folder := newArchive(t)
	path := filepath.Join("logs", "year=2026", "month=01", "day=02", "hour=15", archive.FileName("shard", fmt.Sprintf("%016x", 1)))
	require.NoError(t, os.Truncate(filepath.Join(folder, path), 500))
	code, stdout, stderr := runTopk(t, folder)
	require.Equal(t, exitFailed, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, filepath.ToSlash(path))
	require.Contains(t, stderr, "; --skip-damaged counts the rest")
	code, stdout, _ = runTopk(t, folder, "--skip-damaged")
	require.Zero(t, code)
	require.True(t, strings.HasPrefix(stdout, "INCOMPLETE: 1 damaged or foreign file left out\nleft out: "+filepath.ToSlash(path)), stdout)
	require.Contains(t, stdout, ", 1 file\n")
	require.Contains(t, stdout, "global: 28 records")

	_, stdout, _ = runTopk(t, folder, "--skip-damaged", "--output", "json")
	var r report
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	require.False(t, r.Complete)

	other := filepath.Join(filepath.Dir(path), archive.FileName("shard", fmt.Sprintf("%016x", 0)))
	require.NoError(t, os.Truncate(filepath.Join(folder, other), 500))
	code, stdout, stderr = runTopk(t, folder, "--skip-damaged")
	require.Equal(t, exitFailed, code)
	require.Contains(t, stdout, "INCOMPLETE: 2 damaged or foreign files left out")
	require.Contains(t, stderr, "every file of the range is damaged or foreign")
}

func TestTheSeedComesFromTheFlagOrTheEnvironment(t *testing.T) {
	folder := newArchive(t)
	_, byFlag, _ := runTopk(t, folder, "--rule", "pseudonyms", "--seed", "secret")
	t.Setenv(seedVariable, "secret")
	code, byVariable, stderr := runTopk(t, folder, "--rule", "pseudonyms")
	require.Zero(t, code, stderr)
	require.Equal(t, byFlag, byVariable)
	_, other, _ := runTopk(t, folder, "--rule", "pseudonyms", "--seed", "other")
	require.NotEqual(t, byFlag, other)
	require.NotContains(t, byFlag+other, "acme")
}

func TestRulesAreReadAsACollectorReadsThem(t *testing.T) {
	folder := newArchive(t)
	_, some, _ := runTopk(t, folder, "--rule", "routes")
	t.Setenv("TOPK_TEST_ROUTE", "/cart")
	_, others, _ := runTopk(t, folder, "--rule", "routes")
	require.Contains(t, some, "/cart")
	require.NotContains(t, others, "/cart")
}

func TestACancelledRecountFails(t *testing.T) {
	folder := newArchive(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, problems bytes.Buffer
	code := run(ctx, []string{
		"recount", "--archive", "file://" + folder, "--rules", "testdata/rules.yaml", "--rule", "tenants", "--from", "1767366000", "--to", "1767369600",
	}, &out, &problems)
	require.Equal(t, exitFailed, code)
	require.Contains(t, problems.String(), "context canceled")
}

func TestPrintableTextPlaysNoTricks(t *testing.T) {
	for text, want := range map[string]string{
		"acme": "acme", "a b": "a b", `["a","b"]`: `["a","b"]`, "é日本": "é日本", "": `""`, " a": `" a"`, `"`: `"\""`,
		"\x1b[31m": `"\x1b[31m"`, "a\nb": `"a\nb"`, "a\tb": `"a\tb"`, "a\u202eb": `"a\u202eb"`, "\xff": `"\xff"`,
	} {
		require.Equal(t, want, printable(text))
	}
}

func TestProgressIsOneLine(t *testing.T) {
	require.Equal(t, "1 of 3 files, 500 of about 1400 records, 2 MiB spilled", progressLine(recount.Progress{Files: 3, FilesDone: 1, Rows: 1400, RowsDone: 500, Spilled: 2 << 20}))
	var out bytes.Buffer
	m := &meter{w: &out}
	m.show(recount.Progress{Files: 3})
	m.show(recount.Progress{Files: 3, FilesDone: 1}) // too soon
	m.clear()
	require.Equal(t, "\r0 of 3 files, 0 of about 0 records\r                                  \r", out.String())
	require.Nil(t, newMeter(&out).w, "no terminal")
}
