package recount

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
)

// hour0 is the first hour of the tests.
var hour0 = archive.HourOf(time.Date(2026, 1, 2, 15, 0, 0, 0, time.UTC).UnixNano())

func at(hours float64) time.Time {
	return hour0.Start().Add(time.Duration(hours * float64(time.Hour)))
}

// shelf is an archive in memory.
type shelf struct {
	files   map[archive.File][]byte
	foreign []string
	opened  []string
	gone    string // a path that is listed and cannot be opened
}

func (s *shelf) Files(_ context.Context, signal string, from, to archive.Hour) (files []archive.File, foreign []string, _ error) {
	for f, data := range s.files {
		if f.Signal == signal && f.Hour >= from && f.Hour < to {
			f.Size = int64(len(data))
			files = append(files, f)
		}
	}
	slices.SortFunc(files, func(a, b archive.File) int { return cmp.Or(cmp.Compare(a.Hour, b.Hour), cmp.Compare(a.Name, b.Name)) })
	return files, s.foreign, nil
}

type book struct{ *bytes.Reader }

func (book) Close() error { return nil }

func (s *shelf) Open(_ context.Context, path string) (archive.Object, error) {
	if path == s.gone {
		return nil, fs.ErrNotExist
	}
	s.opened = append(s.opened, path)
	for f, data := range s.files {
		if f.Path() == path {
			return book{bytes.NewReader(data)}, nil
		}
	}
	return nil, fmt.Errorf("no file %s", path)
}

// put writes records as files of a segment, by their hours.
func (s *shelf) put(t testing.TB, segment string, ld plog.Logs, td ptrace.Traces, now int64) {
	type place struct {
		signal string
		hour   archive.Hour
	}
	writers := map[place]*archive.Writer{}
	buffers := map[place]*bytes.Buffer{}
	writer := func(signal string, ns int64) *archive.Writer {
		p := place{signal, archive.HourOf(ns)}
		if writers[p] == nil {
			columns, err := archive.ParseColumns([]string{`log.attributes["tenant"]`, `resource.attributes["region"]`, `span.attributes["tenant"]`})
			require.NoError(t, err)
			buffers[p] = new(bytes.Buffer)
			writers[p], err = archive.NewWriter(buffers[p], archive.Meta{Signal: signal, Hour: p.hour, Shard: "shard", Segment: segment, Columns: columns})
			require.NoError(t, err)
		}
		return writers[p]
	}
	for _, rl := range ld.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			for _, r := range sl.LogRecords().All() {
				require.NoError(t, writer(rule.SignalLogs, rule.LogTime(r, now)).Log(rl, sl, r, now))
			}
		}
	}
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				require.NoError(t, writer(rule.SignalTraces, rule.SpanTime(span, false, now)).Span(rs, ss, span, now))
			}
		}
	}
	if s.files == nil {
		s.files = map[archive.File][]byte{}
	}
	for p, w := range writers {
		require.NoError(t, w.Close())
		s.files[archive.File{Signal: p.signal, Hour: p.hour, Name: archive.FileName("shard", segment)}] = buffers[p].Bytes()
	}
}

func compiled(t require.TestingT, change func(*rule.Config)) *rule.Rule {
	cfg := rule.NewDefaultConfig()
	cfg.Name = "test"
	change(&cfg)
	r, err := rule.New(cfg, 1, "secret", componenttest.NewNopTelemetrySettings())
	require.NoError(t, err)
	return r
}

// someTime is within four hours of hour0.
func someTime(r *rand.Rand) pcommon.Timestamp {
	if r.IntN(9) == 0 {
		return 0
	}
	return pcommon.NewTimestampFromTime(at(r.Float64() * 4))
}

func tenant(r *rand.Rand, m pcommon.Map) {
	switch r.IntN(8) {
	case 0:
	case 1:
		m.PutInt("tenant", int64(r.IntN(5)))
	case 2:
		m.PutStr("tenant", "")
	default:
		m.PutStr("tenant", fmt.Sprintf("tenant-%d", r.IntN(40)))
	}
	if r.IntN(2) == 0 {
		m.PutDouble("load", float64(r.IntN(20))/4)
	}
	if r.IntN(3) == 0 {
		m.PutStr("route", fmt.Sprintf("/%d", r.IntN(4)))
	}
}

func region(r *rand.Rand, m pcommon.Map) {
	if i := r.IntN(4); i > 0 {
		m.PutStr("region", []string{"", "eu", "us"}[i-1])
	}
}

func someLogs(r *rand.Rand, records int) plog.Logs {
	ld := plog.NewLogs()
	for range 3 {
		rl := ld.ResourceLogs().AppendEmpty()
		region(r, rl.Resource().Attributes())
		sl := rl.ScopeLogs().AppendEmpty()
		sl.Scope().SetName("scope")
		for range records {
			record := sl.LogRecords().AppendEmpty()
			record.SetTimestamp(someTime(r))
			record.SetObservedTimestamp(someTime(r))
			record.SetSeverityNumber(plog.SeverityNumber(r.IntN(24)))
			record.Body().SetStr(fmt.Sprint("body ", r.IntN(1000)))
			tenant(r, record.Attributes())
		}
	}
	return ld
}

func someTraces(r *rand.Rand, spans int) ptrace.Traces {
	td := ptrace.NewTraces()
	for range 3 {
		rs := td.ResourceSpans().AppendEmpty()
		region(r, rs.Resource().Attributes())
		ss := rs.ScopeSpans().AppendEmpty()
		for range spans {
			span := ss.Spans().AppendEmpty()
			end := someTime(r)
			span.SetEndTimestamp(end)
			if end > 0 && r.IntN(9) > 0 {
				span.SetStartTimestamp(end - pcommon.Timestamp(r.Int64N(int64(90*time.Minute))))
			}
			span.SetName(fmt.Sprint("span ", r.IntN(9)))
			tenant(r, span.Attributes())
			for range r.IntN(3) {
				event := span.Events().AppendEmpty()
				event.SetName(fmt.Sprint("event ", r.IntN(9)))
				if start := span.StartTimestamp(); start > 0 && r.IntN(9) > 0 {
					event.SetTimestamp(start + pcommon.Timestamp(r.Int64N(int64(end-start)+1)))
				}
			}
		}
	}
	return td
}
