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
// record's own. It is filled in place, since it is too large to be passed on for every record.
type value struct {
	kind      valueKind
	bits, low uint64
	str       string
	tree      pcommon.Value
}

func (v *value) setText(s string)    { v.kind, v.str = text, s }
func (v *value) setInt(n int64)      { v.kind, v.bits = integer, uint64(n) }
func (v *value) setDouble(f float64) { v.kind, v.bits = double, math.Float64bits(f) }

func (v *value) setBool(b bool) {
	v.kind, v.bits = boolean, 0
	if b {
		v.bits = 1
	}
}

func (v *value) setTraceID(id pcommon.TraceID) {
	v.kind, v.bits, v.low = id16, binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])
}

func (v *value) setSpanID(id pcommon.SpanID) {
	v.kind, v.bits = id8, binary.BigEndian.Uint64(id[:])
}

// setValue leaves v absent where an attribute or body has no value, as in OTTL.
func (v *value) setValue(p pcommon.Value) {
	switch p.Type() {
	case pcommon.ValueTypeStr:
		v.setText(p.Str())
	case pcommon.ValueTypeInt:
		v.setInt(p.Int())
	case pcommon.ValueTypeDouble:
		v.setDouble(p.Double())
	case pcommon.ValueTypeBool:
		v.setBool(p.Bool())
	case pcommon.ValueTypeEmpty:
		v.kind = absent
	default:
		v.kind, v.tree = other, p
	}
}
