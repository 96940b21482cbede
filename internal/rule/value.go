package rule

import (
	"encoding/binary"
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// valueKind says which fields of a value are set.
type valueKind uint8

const (
	absent  valueKind = iota // no such attribute, or one without a value
	text                     // str
	integer                  // bits
	double                   // bits, as math.Float64bits
	boolean                  // bits: 0 or 1
	id16                     // bits and low: the bytes of a trace id
	id8                      // bits: the bytes of a span id
	other                    // tree: bytes, a list or a map
	failed                   // an OTTL expression failed
)

// value is what a path found in one record, before it is text or a number. It holds no copy: strings and trees are the
// record's own.
type value struct {
	kind      valueKind
	bits, low uint64
	str       string
	tree      pcommon.Value
}

func textValue(s string) value    { return value{kind: text, str: s} }
func intValue(n int64) value      { return value{kind: integer, bits: uint64(n)} }
func doubleValue(f float64) value { return value{kind: double, bits: math.Float64bits(f)} }

func boolValue(b bool) value {
	if b {
		return value{kind: boolean, bits: 1}
	}
	return value{kind: boolean}
}

func traceIDValue(id pcommon.TraceID) value {
	return value{kind: id16, bits: binary.BigEndian.Uint64(id[:8]), low: binary.BigEndian.Uint64(id[8:])}
}

func spanIDValue(id pcommon.SpanID) value {
	return value{kind: id8, bits: binary.BigEndian.Uint64(id[:])}
}

// attribute is m[key]; an attribute without a value is absent, as in OTTL.
func attribute(m pcommon.Map, key string) value {
	v, ok := m.Get(key)
	if !ok {
		return value{}
	}
	return valueOf(v)
}

func valueOf(v pcommon.Value) value {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return textValue(v.Str())
	case pcommon.ValueTypeInt:
		return intValue(v.Int())
	case pcommon.ValueTypeDouble:
		return doubleValue(v.Double())
	case pcommon.ValueTypeBool:
		return boolValue(v.Bool())
	case pcommon.ValueTypeEmpty:
		return value{}
	default:
		return value{kind: other, tree: v}
	}
}
