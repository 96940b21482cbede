package rule

import (
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"pgregory.net/rapid"
)

// weirdText holds what breaks encodings: separators, quotes, control characters, broken UTF-8.
func weirdText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{
			"", "a", "a,b", `["a","b"]`, `"`, `\`, `\"`, "/", "%2F", "//", "?", "#", "+", "..", "\x00", "\n\t\x1f\x7f", "\xff", "\xff\xfe a \xc3",
			"\xed\xa0\x80", "é", "日本語", "😀", "\u2028", "\uFFFD", "<script>&",
		}),
		rapid.StringN(0, 80, -1),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 300), func(b []byte) string { return string(b) }),
	)
}

// fillValue draws a value of any type.
func fillValue(t *rapid.T, v pcommon.Value, depth int) {
	kinds := []string{"text", "int", "double", "bool", "bytes", "empty"}
	if depth > 0 {
		kinds = append(kinds, "list", "map")
	}
	switch rapid.SampledFrom(kinds).Draw(t, "type") {
	case "text":
		v.SetStr(weirdText().Draw(t, "text"))
	case "int":
		v.SetInt(rapid.OneOf(rapid.Int64(), rapid.Int64Range(-5, 1005)).Draw(t, "int"))
	case "double":
		v.SetDouble(anyDouble().Draw(t, "double"))
	case "bool":
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case "bytes":
		v.SetEmptyBytes().FromRaw(rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "bytes"))
	case "list":
		items := v.SetEmptySlice()
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			fillValue(t, items.AppendEmpty(), depth-1)
		}
	case "map":
		fillMap(t, v.SetEmptyMap(), depth-1, weirdText())
	}
}

func fillMap(t *rapid.T, m pcommon.Map, depth int, keys *rapid.Generator[string]) {
	for range rapid.IntRange(0, 4).Draw(t, "entries") {
		fillValue(t, m.PutEmpty(keys.Draw(t, "key")), depth)
	}
}

func anyDouble() *rapid.Generator[float64] {
	return rapid.OneOf(
		rapid.Float64(),
		rapid.SampledFrom([]float64{
			0, math.Copysign(0, -1), 200, 0.1, -1.5, 1e20, 1e21, 123456789e15, 1e-6, 1e-7, 5e-324, math.MaxFloat64, 1 << 53, math.NaN(),
			math.Inf(1), math.Inf(-1),
		}),
		rapid.Map(rapid.Uint64(), math.Float64frombits),
	)
}

// attributeNames are those that drawn records may carry.
var attributeNames = rapid.SampledFrom([]string{"a", "b", `quote"d\`, "dotted.name", "日本", ""})

func drawScope(t *rapid.T, s pcommon.InstrumentationScope) {
	s.SetName(weirdText().Draw(t, "scope name"))
	s.SetVersion(weirdText().Draw(t, "scope version"))
	s.SetDroppedAttributesCount(rapid.Uint32().Draw(t, "scope dropped"))
	fillMap(t, s.Attributes(), 2, attributeNames)
}

func drawResource(t *rapid.T, r pcommon.Resource) {
	r.SetDroppedAttributesCount(rapid.Uint32().Draw(t, "resource dropped"))
	fillMap(t, r.Attributes(), 2, attributeNames)
}

func drawTime() *rapid.Generator[pcommon.Timestamp] {
	return rapid.Map(rapid.OneOf(rapid.Just(uint64(0)), rapid.Uint64()), func(n uint64) pcommon.Timestamp { return pcommon.Timestamp(n) })
}

func drawTraceID(t *rapid.T) (id pcommon.TraceID) {
	copy(id[:], rapid.SliceOfN(rapid.Byte(), 0, 16).Draw(t, "trace id"))
	return id
}

func drawSpanID(t *rapid.T) (id pcommon.SpanID) {
	copy(id[:], rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "span id"))
	return id
}

func drawLogs(t *rapid.T) plog.Logs {
	ld := plog.NewLogs()
	for range rapid.IntRange(0, 2).Draw(t, "resources") {
		rl := ld.ResourceLogs().AppendEmpty()
		rl.SetSchemaUrl(weirdText().Draw(t, "schema"))
		drawResource(t, rl.Resource())
		for range rapid.IntRange(0, 2).Draw(t, "scopes") {
			sl := rl.ScopeLogs().AppendEmpty()
			sl.SetSchemaUrl(weirdText().Draw(t, "schema"))
			drawScope(t, sl.Scope())
			for range rapid.IntRange(0, 3).Draw(t, "records") {
				drawLogRecord(t, sl.LogRecords().AppendEmpty())
			}
		}
	}
	ld.MarkReadOnly()
	return ld
}

func drawLogRecord(t *rapid.T, r plog.LogRecord) {
	r.SetTimestamp(drawTime().Draw(t, "time"))
	r.SetObservedTimestamp(drawTime().Draw(t, "observed"))
	r.SetSeverityNumber(plog.SeverityNumber(rapid.Int32().Draw(t, "severity")))
	r.SetSeverityText(weirdText().Draw(t, "severity text"))
	r.SetEventName(weirdText().Draw(t, "event name"))
	r.SetFlags(plog.LogRecordFlags(rapid.Uint32().Draw(t, "flags")))
	r.SetDroppedAttributesCount(rapid.Uint32().Draw(t, "dropped"))
	r.SetTraceID(drawTraceID(t))
	r.SetSpanID(drawSpanID(t))
	fillValue(t, r.Body(), 2)
	fillMap(t, r.Attributes(), 2, attributeNames)
}
