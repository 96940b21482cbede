package archive

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"
)

// weirdText holds what breaks encodings.
func weirdText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{
			"", "", "a", "a", "b", `["a","b"]`, `"`, `\`, "\x00", "\n", "\xff", "\xff\xfe a \xc3", "\xed\xa0\x80", "日本語", "\uFFFD", "200", "true", "NaN",
		}),
		rapid.StringN(0, 20, -1),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 30), func(b []byte) string { return string(b) }),
	)
}

func plainText() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"", "a", "b", "日本語", "200", "some longer text that repeats"})
}

// drawing draws records that are whole in their columns or, weird, any.
type drawing struct {
	*rapid.T
	text *rapid.Generator[string]
	any  bool
}

func draw(t *rapid.T) drawing {
	if rapid.Bool().Draw(t, "weird") {
		return drawing{t, weirdText(), true}
	}
	return drawing{t, plainText(), false}
}

func (t drawing) double() float64 {
	if t.any {
		return rapid.OneOf(
			rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 5e-324, 1e21, math.MaxFloat64}),
			rapid.Map(rapid.Uint64(), math.Float64frombits),
		).Draw(t.T, "double")
	}
	return rapid.SampledFrom([]float64{0, 0.1, -1.5, 200, 1e21, 1e-7, math.NaN(), math.Inf(-1), 123456789e15}).Draw(t.T, "double")
}

func (t drawing) value(v pcommon.Value, depth int) {
	kinds := []string{"text", "text", "text", "int", "double", "bool", "bytes", "empty"}
	if depth > 0 {
		kinds = append(kinds, "list", "map")
	}
	switch rapid.SampledFrom(kinds).Draw(t.T, "type") {
	case "text":
		v.SetStr(t.text.Draw(t.T, "text"))
	case "int":
		v.SetInt(rapid.OneOf(rapid.Int64(), rapid.Int64Range(-5, 1005)).Draw(t.T, "int"))
	case "double":
		v.SetDouble(t.double())
	case "bool":
		v.SetBool(rapid.Bool().Draw(t.T, "bool"))
	case "bytes":
		v.SetEmptyBytes().FromRaw(rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t.T, "bytes"))
	case "list":
		items := v.SetEmptySlice()
		for range rapid.IntRange(0, 3).Draw(t.T, "length") {
			t.value(items.AppendEmpty(), depth-1)
		}
	case "map":
		t.attributes(v.SetEmptyMap(), depth-1)
	}
}

var attributeNames = []string{"a", "b", "tenant.id", `quote"d\`, "日本", "", "status"}

// attributes draws some; weird ones may come twice.
func (t drawing) attributes(m pcommon.Map, depth int) {
	n := rapid.IntRange(0, 5).Draw(t.T, "entries")
	names := rapid.SampledFrom(attributeNames)
	if t.any {
		names = rapid.OneOf(names, weirdText())
	}
	var list []byte
	for range n {
		v := pcommon.NewValueEmpty()
		t.value(v, depth)
		name := names.Draw(t.T, "name")
		if t.any { // as only OTLP can: by name again
			pair := protowire.AppendString(protowire.AppendTag(nil, pairKey, protowire.BytesType), name)
			list = appendMessage(list, listValues, appendMessage(pair, pairValue, appendValue(nil, v)))
		} else {
			v.CopyTo(m.PutEmpty(name))
		}
	}
	if len(list) > 0 {
		v := pcommon.NewValueEmpty()
		require.NoError(t.T, readValue(v, appendMessage(nil, anyMap, list)))
		v.Map().MoveTo(m)
	}
}

func (t drawing) time() pcommon.Timestamp {
	times := []*rapid.Generator[uint64]{rapid.Just[uint64](0), rapid.Uint64Range(1767366000e9, 1767366000e9+3600e9), rapid.Uint64Range(1, math.MaxInt64)}
	if t.any {
		times = append(times, rapid.Uint64())
	}
	return pcommon.Timestamp(rapid.OneOf(times...).Draw(t.T, "time"))
}

func (t drawing) dropped() uint32 {
	return rapid.OneOf(rapid.Just[uint32](0), rapid.Uint32()).Draw(t.T, "dropped")
}

func (t drawing) traceID() (id pcommon.TraceID) {
	copy(id[:], rapid.SliceOfN(rapid.Byte(), 0, 16).Draw(t.T, "trace id"))
	return id
}

func (t drawing) spanID() (id pcommon.SpanID) {
	copy(id[:], rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t.T, "span id"))
	return id
}

func (t drawing) str(label string) string { return t.text.Draw(t.T, label) }

func (t drawing) place(r pcommon.Resource, schema func(string), s pcommon.InstrumentationScope, scopeSchema func(string)) {
	schema(t.str("schema"))
	r.SetDroppedAttributesCount(t.dropped())
	t.attributes(r.Attributes(), 2)
	scopeSchema(t.str("scope schema"))
	s.SetName(t.str("scope name"))
	s.SetVersion(t.str("scope version"))
	s.SetDroppedAttributesCount(t.dropped())
	t.attributes(s.Attributes(), 2)
}

func (t drawing) log(r plog.LogRecord) {
	r.SetTimestamp(t.time())
	r.SetObservedTimestamp(t.time())
	r.SetSeverityNumber(plog.SeverityNumber(rapid.Int32().Draw(t.T, "severity")))
	r.SetSeverityText(t.str("severity text"))
	r.SetEventName(t.str("event name"))
	r.SetFlags(plog.LogRecordFlags(rapid.Uint32().Draw(t.T, "flags")))
	r.SetDroppedAttributesCount(t.dropped())
	r.SetTraceID(t.traceID())
	r.SetSpanID(t.spanID())
	t.value(r.Body(), 3)
	t.attributes(r.Attributes(), 2)
}

func (t drawing) span(s ptrace.Span) {
	s.SetStartTimestamp(t.time())
	s.SetEndTimestamp(t.time())
	s.SetName(t.str("name"))
	s.SetKind(ptrace.SpanKind(rapid.Int32().Draw(t.T, "kind")))
	s.Status().SetCode(ptrace.StatusCode(rapid.Int32Range(-1, 5).Draw(t.T, "code")))
	s.Status().SetMessage(t.str("message"))
	s.SetTraceID(t.traceID())
	s.SetSpanID(t.spanID())
	s.SetParentSpanID(t.spanID())
	s.TraceState().FromRaw(t.str("state"))
	s.SetFlags(t.dropped())
	s.SetDroppedAttributesCount(t.dropped())
	s.SetDroppedEventsCount(t.dropped())
	s.SetDroppedLinksCount(t.dropped())
	t.attributes(s.Attributes(), 2)
	for range rapid.IntRange(0, 3).Draw(t.T, "events") {
		e := s.Events().AppendEmpty()
		e.SetTimestamp(pcommon.Timestamp(rapid.Uint64().Draw(t.T, "event time")))
		e.SetName(t.str("event"))
		e.SetDroppedAttributesCount(t.dropped())
		t.attributes(e.Attributes(), 1)
	}
	for range rapid.IntRange(0, 2).Draw(t.T, "links") {
		k := s.Links().AppendEmpty()
		k.SetTraceID(t.traceID())
		k.SetSpanID(t.spanID())
		k.TraceState().FromRaw(t.str("link state"))
		k.SetFlags(t.dropped())
		k.SetDroppedAttributesCount(t.dropped())
		t.attributes(k.Attributes(), 1)
	}
}

// memory is an object in memory.
type memory struct{ *bytes.Reader }

func (m memory) Close() error { return nil }

func inMemory(file []byte) Object { return memory{bytes.NewReader(file)} }

// mustColumns parses paths.
func mustColumns(t testing.TB, paths ...string) []Column {
	columns, err := ParseColumns(paths)
	require.NoError(t, err)
	return columns
}
