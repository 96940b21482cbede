package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/recount"
)

func TestAnHourIsOpenUntilItsGraceEnds(t *testing.T) {
	at := func(text string) time.Time {
		moment, err := time.Parse(time.RFC3339, "2026-01-02T"+text+"Z")
		require.NoError(t, err)
		return moment
	}
	for _, row := range []struct {
		situation     string
		from, to, now string
		grace         time.Duration
		open          string // "": it is closed
		says          string
	}{
		{"grace is over", "15:00:00", "16:00:00", "16:15:00", defaultGrace, "", ""},
		{"a second before", "15:00:00", "16:00:00", "16:14:59", defaultGrace, "15:00:00", "--to: TO reaches into an hour that is not closed"},
		{"a part of an open hour", "15:00:00", "15:01:00", "15:59:00", 0, "15:00:00", "--to: TO reaches into an hour that is not closed"},
		{"no grace", "15:00:00", "16:00:00", "16:00:00", 0, "", ""},
		{"some hours are closed", "12:00:00", "16:00:00", "16:00:00", defaultGrace, "15:00:00", "the newest closed time is 2026-01-02T15:00:00Z"},
		{"in the future", "18:30:00", "19:00:00", "16:30:00", defaultGrace, "18:00:00", "--from: FROM is in the future"},
	} {
		t.Run(row.situation, func(t *testing.T) {
			a := &asked{question: recount.Question{From: at(row.from), To: at(row.to)}}
			f := &recountFlags{from: "FROM", to: "TO", grace: row.grace}
			err := f.closing(a, at(row.now))
			if row.open == "" {
				require.NoError(t, err)
				require.Zero(t, a.openFrom)
				return
			}
			require.ErrorContains(t, err, row.says)
			require.ErrorContains(t, err, "--open")
			f.open = true
			require.NoError(t, f.closing(a, at(row.now)))
			require.Equal(t, at(row.open), a.openFrom)
		})
	}
}

// The hour of now is refused, or said to be incomplete.
func TestAnOpenHourIsNeverPrintedAsExact(t *testing.T) {
	folder := newArchive(t)
	until := []string{"--to", time.Now().UTC().Truncate(time.Hour).Add(time.Hour).Format(time.RFC3339)}
	code, stdout, stderr := runTopk(t, folder, until...)
	require.Equal(t, exitUsage, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "the newest closed time is ")

	code, stdout, stderr = runTopk(t, folder, append(until, "--open")...)
	require.Zero(t, code, stderr)
	require.Regexp(t, "^INCOMPLETE: from .+ hours are not closed", stdout)
	require.Contains(t, stdout, "global: 56 records")

	_, stdout, _ = runTopk(t, folder, append(until, "--open", "--output", "json")...)
	var r report
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	require.False(t, r.Complete)
	require.NotNil(t, r.OpenFrom)

	_, stdout, _ = runTopk(t, folder, "--open", "--output", "json")
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	require.True(t, r.Complete)
	require.Nil(t, r.OpenFrom)
}

func TestWhereNothingIsFoundTheErrorNamesArchiveAndRange(t *testing.T) {
	folder := newArchive(t)
	nothere := filepath.Join(folder, "nothere")
	for _, row := range []struct {
		situation, folder string
		args              []string
		want              string
	}{
		{"another day", folder, []string{"--from", "2026-01-03", "--to", "2026-01-03T02:00:00Z"}, " from 2026-01-03T00:00:00Z to 2026-01-03T02:00:00Z\n"},
		{"no folder", nothere, nil, " from 2026-01-02T15:00:00Z to 2026-01-02T16:00:00Z; there is no such folder or bucket\n"},
		{"one folder too deep", filepath.Join(folder, "logs"), nil, "; it has neither logs/ nor traces/: --archive is what parquet exporters have as archive, the folder above those\n"},
	} {
		t.Run(row.situation, func(t *testing.T) {
			code, _, stderr := runTopk(t, row.folder, row.args...)
			require.Equal(t, exitNoArchive, code)
			require.Contains(t, stderr, "topk: the archive has no file in the range: file://"+row.folder+" from ")
			require.Contains(t, stderr, row.want)
		})
	}
}

func TestWhatIsNotCountedIsSaid(t *testing.T) {
	folder := newArchive(t)
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, os.WriteFile(rules, []byte(`
- {name: keyless, key: 'log.attributes["nobody"]'}
- {name: weightless, key: 'log.attributes["route"]', weight: 'log.attributes["tenant"]'}
`), 0o600))
	for name, want := range map[string]string{
		"keyless":    "not counted: 60 records without a part of the key\n",
		"weightless": "not counted: 60 records whose weight is missing or no number that counts\n",
	} {
		code, stdout, stderr := runTopk(t, folder, "--rules", rules, "--rule", name)
		require.Zero(t, code, stderr)
		require.Contains(t, stdout, want)
	}
	r := report{Results: []listJSON{}}
	r.Skipped.Errors, r.Skipped.Unmatched = 1, 7
	var out bytes.Buffer
	require.NoError(t, r.table(&out))
	require.Contains(t, out.String(), "not counted: 1 record for which an expression of the rule failed\n")
	require.NotContains(t, out.String(), "7", "that others are not meant is the rule")
}

func TestAConfigurationAsRulesIsToldWhereTheyStand(t *testing.T) {
	folder := newArchive(t)
	file := filepath.Join(t.TempDir(), "collector.yaml")
	for content, want := range map[string]string{
		"processors: {topk: {rules: [{name: a, key: log.body}]}}": "is no YAML list of rules, but a collector's configuration: they are the list at processors::topk::rules",
		"rules: [{name: a, key: log.body}]":                       "is no YAML list of rules: they are the list at rules;",
	} {
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
		code, _, stderr := runTopk(t, folder, "--rules", file)
		require.Equal(t, exitUsage, code)
		require.Contains(t, stderr, want)
	}
}
