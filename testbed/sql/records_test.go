package sql_test

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.yaml.in/yaml/v3"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/testbed/examples"
)

// value of an attribute, and what it counts as. Without a raw value the attribute is missing.
type value struct {
	raw  any
	text string
}

// known says whether a record with the value counts.
func (v value) known() bool { return v.raw != nil }

// bytes is raw text that is handed to pdata as bytes.
type bytes string

func (v value) put(m pcommon.Map, name string) {
	switch raw := v.raw.(type) {
	case nil:
		if v.text == "no value" { // the attribute is there, and as good as missing
			m.PutEmpty(name)
		}
	case bytes:
		m.PutEmptyBytes(name).FromRaw([]byte(raw))
	default:
		if err := m.PutEmpty(name).FromRaw(raw); err != nil {
			panic(err)
		}
	}
}

func text(s string) value { return value{s, s} }

var (
	long = strings.Repeat("long-", 60)

	tenants = []value{
		{},
		{text: "no value"},
		text(""), text(" "), text("acme"), text("日本 テナント"), text(`it's "quoted" \ and back`), text("tab\tand\nline"), text("%_*?"),
		text("NULL"), text("null"), text("a\x00b"), text("1e3"), text("007"), text("200"),
		{200, "200"},
		{-5, "-5"},
		{0.5, "0.5"},
		{1e21, "1e+21"},
		{true, "true"},
		{bytes("\x01\x02\xff"), "AQL/"},
		{[]any{"a", 1}, `["a",1]`},
		{map[string]any{"b": 1, "a": "x"}, `{"a":"x","b":1}`},
		{"bad\xff\xfekey", "bad\ufffdkey"},
		text(long[:256]), text(long + "1"), text(long + "2"),
	}
	regions = []value{{}, text(""), text("eu-west-1"), text("us-east-1"), text(`o'"region"`), {7, "7"}}
	routes  = []value{{}, text("GET /v1/orders"), text("GET /v1/a,b"), text(`GET "/"`), text("POST /v1/orders")}
)

// weight is a number, and what it weighs with a scale of 1 and of 1000; it is negative where the record is skipped.
type weight struct {
	raw            any
	one, thousands int64
}

const most = 1 << 53

var (
	durations = []weight{
		{nil, -1, -1},
		{0, 0, 0},
		{1, 1, 1000},
		{123_456, 123_456, 123_456_000},
		{-1, -1, -1},
		{0.5, 1, 500},
		{1.5, 2, 1500},
		{2.5, 3, 2500},
		{0.49999999999999994, 0, 500},
		{2.4999, 2, 2500},
		{math.NaN(), -1, -1},
		{math.Inf(1), -1, -1},
		{1e300, -1, -1},
		{most, most, -1},
		{most/2 + 1, most/2 + 1, -1},
		{true, -1, -1},
		{"no number", -1, -1},
	}
	// The type of these stands beside them, so that a number sent as text is told from one.
	sizes = append([]weight{{"12", -1, -1}, {"1e3", -1, -1}, {"Infinity", -1, -1}}, durations...)
)

// record is what the tests tell of a log record.
type record struct {
	at                    time.Time
	region, tenant, route value
	size, duration        weight
	failed                bool

	bytes int // as OTLP protobuf
}

var (
	day      = time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC) // that the page asks about
	before   = day.AddDate(0, 0, -1)                       // whose files have no columns for attributes
	hours    = []int{0, 5, 9, 13, 23}
	arrival  = day.Add(9 * time.Hour).Add(time.Nanosecond)
	severity = map[bool]plog.SeverityNumber{false: plog.SeverityNumberInfo, true: plog.SeverityNumberError}
)

// moment in an hour: often its first or its last one, or one beside a quarter past.
func moment(rng *rand.Rand, hour time.Time) time.Time {
	switch rng.IntN(10) {
	case 0:
		return hour
	case 1:
		return hour.Add(time.Hour - time.Nanosecond)
	case 2:
		return hour.Add(15 * time.Minute)
	case 3:
		return hour.Add(15*time.Minute - time.Nanosecond)
	default:
		return hour.Add(time.Duration(rng.Int64N(int64(time.Hour))))
	}
}

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }

// columns of the example that the page is about. In files of shard-b regions have none.
func columns(t *testing.T, shard string) []string {
	t.Helper()
	var example struct {
		Exporters struct{ Parquet struct{ Columns []string } }
	}
	require.NoError(t, yaml.Unmarshal([]byte(examples.Read(t, "examples/archive/config.yaml")), &example))
	named := example.Exporters.Parquet.Columns
	require.Contains(t, named, regionPath)
	if shard == "shard-b" {
		named = slices.DeleteFunc(named, func(c string) bool { return c == regionPath })
	}
	return named
}

// files of an archive by their path.
type files map[string]*archive.Writer

// at is the file of a shard in an hour.
func (f files) at(t *testing.T, folder, signal, shard string, hour time.Time) *archive.Writer {
	t.Helper()
	name := archive.File{Signal: signal, Hour: archive.HourOf(hour.UnixNano()), Name: archive.FileName(shard, "0123456789abcdef")}
	path := filepath.Join(folder, filepath.FromSlash(name.Path()))
	if w := f[path]; w != nil {
		return w
	}
	var promoted []string
	if !hour.Before(day) {
		promoted = columns(t, shard)
	}
	parsed, err := archive.ParseColumns(promoted)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	file, err := os.Create(path)
	require.NoError(t, err)
	w, err := archive.NewWriter(file, archive.Meta{Signal: signal, Hour: name.Hour, Shard: shard, Segment: "0123456789abcdef", Columns: parsed})
	require.NoError(t, err)
	f[path] = w
	t.Cleanup(func() { require.NoError(t, file.Close()) })
	return w
}

func (f files) close(t *testing.T) {
	t.Helper()
	for path, w := range f {
		require.NoError(t, w.Close(), path)
	}
}

// writeLogs writes n log records of two days into an archive, and returns them.
func writeLogs(t *testing.T, folder string, n int) []record {
	t.Helper()
	rng := rand.New(rand.NewPCG(4, 0))
	out := files{}
	defer out.close(t)
	records := make([]record, n)
	for i := range records {
		r := &records[i]
		*r = record{
			region: pick(rng, regions), tenant: pick(rng, tenants), route: pick(rng, routes),
			size: pick(rng, sizes), duration: pick(rng, durations), failed: rng.IntN(4) == 0,
		}
		if rng.IntN(3) > 0 {
			r.tenant = text("tenant-" + strconv.Itoa(int(rng.ExpFloat64()*20)))
		}
		r.at = moment(rng, pick(rng, []time.Time{before, day}).Add(time.Duration(pick(rng, hours))*time.Hour))

		rl := plog.NewLogs().ResourceLogs().AppendEmpty()
		r.region.put(rl.Resource().Attributes(), "cloud.region")
		sl := rl.ScopeLogs().AppendEmpty()
		lr := sl.LogRecords().AppendEmpty()
		switch rng.IntN(20) {
		case 0: // both are missing
			r.at = arrival
		case 1:
			lr.SetObservedTimestamp(pcommon.NewTimestampFromTime(r.at))
		default:
			lr.SetTimestamp(pcommon.NewTimestampFromTime(r.at))
		}
		lr.SetSeverityNumber(severity[r.failed])
		lr.Body().SetStr(strings.Repeat("x", rng.IntN(100)))
		r.tenant.put(lr.Attributes(), "tenant.id")
		r.route.put(lr.Attributes(), "http.route")
		value{raw: r.size.raw}.put(lr.Attributes(), "http.response.body.size")
		value{raw: r.duration.raw}.put(lr.Attributes(), "duration")
		r.bytes = (&plog.ProtoMarshaler{}).LogRecordSize(lr)
		w := out.at(t, folder, rule.SignalLogs, pick(rng, []string{"shard-a", "shard-b"}), r.at.Truncate(time.Hour))
		require.NoError(t, w.Log(rl, sl, lr, arrival.UnixNano()))
	}
	return records
}

// span is what the tests tell of one.
type span struct {
	at     time.Time
	name   string
	failed bool
}

// writeSpans writes n spans of two days into an archive, and returns them.
func writeSpans(t *testing.T, folder string, n int) []span {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 0))
	out := files{}
	defer out.close(t)
	spans := make([]span, n)
	for i := range spans {
		s := &spans[i]
		*s = span{moment(rng, pick(rng, []time.Time{before, day}).Add(time.Duration(pick(rng, hours))*time.Hour)), pick(rng, routes).text, rng.IntN(3) == 0}
		rs := ptrace.NewTraces().ResourceSpans().AppendEmpty()
		ss := rs.ScopeSpans().AppendEmpty()
		sp := ss.Spans().AppendEmpty()
		sp.SetName(s.name)
		sp.SetStartTimestamp(pcommon.NewTimestampFromTime(s.at.Add(-time.Hour)))
		sp.SetEndTimestamp(pcommon.NewTimestampFromTime(s.at))
		if s.failed {
			sp.Status().SetCode(ptrace.StatusCodeError)
			sp.Events().AppendEmpty().SetName("exception")
		}
		w := out.at(t, folder, rule.SignalTraces, "shard-a", s.at.Truncate(time.Hour))
		require.NoError(t, w.Span(rs, ss, sp, arrival.UnixNano()))
	}
	return spans
}
