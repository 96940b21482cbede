package rule

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// AppendText appends the canonical text of v (see the package comment) to dst, as it counts before it is repaired and cut. A value
// of no type has none.
func AppendText(dst []byte, v pcommon.Value) []byte {
	var found value
	found.setValue(v)
	return appendText(dst, &found)
}

// Repaired is s as it counts: every run of bytes that are no UTF-8 is one U+FFFD.
func Repaired(s string) string {
	s, _ = repair(s)
	return s
}

// appendText appends the canonical text of a value (see the package comment), not yet repaired.
func appendText(dst []byte, v *value) []byte {
	switch v.kind {
	case text:
		return append(dst, v.str...)
	case integer:
		return strconv.AppendInt(dst, int64(v.bits), 10)
	case double:
		return appendDouble(dst, math.Float64frombits(v.bits))
	case boolean:
		return strconv.AppendBool(dst, v.bits == 1)
	case id16:
		return appendHex(dst, v.bits, v.low)
	case id8:
		return appendHex(dst, v.bits)
	case other:
		if v.tree.Type() == pcommon.ValueTypeBytes {
			return base64.StdEncoding.AppendEncode(dst, v.tree.Bytes().AsRaw())
		}
		return appendJSON(dst, v.tree)
	default:
		return dst
	}
}

func appendHex(dst []byte, words ...uint64) []byte {
	var b [8]byte
	for _, w := range words {
		binary.BigEndian.PutUint64(b[:], w)
		dst = hex.AppendEncode(dst, b[:])
	}
	return dst
}

// appendDouble writes f as JavaScript and JSON (RFC 8785) do: 200, 0.5, 1e+21, 1e-7; besides NaN, Infinity, -Infinity.
// Zero of either sign is 0.
func appendDouble(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	case f == 0:
		return append(dst, '0')
	}
	if abs := math.Abs(f); abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	from := len(dst)
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	// e-07 is written e-7.
	if n := len(dst); n-from >= 4 && dst[n-4] == 'e' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// appendJSON writes a list or map, and what is in it, as JSON without spaces.
func appendJSON(dst []byte, v pcommon.Value) []byte {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return appendJSONString(dst, v.Str())
	case pcommon.ValueTypeMap:
		return appendJSONMap(dst, v.Map())
	case pcommon.ValueTypeSlice:
		dst = append(dst, '[')
		for i, item := range v.Slice().All() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSON(dst, item)
		}
		return append(dst, ']')
	case pcommon.ValueTypeEmpty:
		return append(dst, "null"...)
	case pcommon.ValueTypeDouble:
		if f := v.Double(); math.IsNaN(f) || math.IsInf(f, 0) {
			return append(appendDouble(append(dst, '"'), f), '"')
		}
		return appendDouble(dst, v.Double())
	case pcommon.ValueTypeBytes:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, v.Bytes().AsRaw())
		return append(dst, '"')
	default: // an integer or a bool
		var scalar value
		scalar.setValue(v)
		return appendText(dst, &scalar)
	}
}

// appendJSONMap writes the keys in the order of their bytes; of equal keys the first counts, as in every lookup.
func appendJSONMap(dst []byte, m pcommon.Map) []byte {
	type entry struct {
		key   string
		value pcommon.Value
	}
	entries := make([]entry, 0, m.Len())
	for k, v := range m.All() {
		entries = append(entries, entry{k, v})
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	dst = append(dst, '{')
	for i, e := range entries {
		if i > 0 {
			if e.key == entries[i-1].key {
				continue
			}
			dst = append(dst, ',')
		}
		dst = appendJSONString(dst, e.key)
		dst = append(dst, ':')
		dst = appendJSON(dst, e.value)
	}
	return append(dst, '}')
}

// appendJSONString writes s as RFC 8785 does: only quote, backslash and control characters are escaped.
func appendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	written := 0
	for i := range len(s) {
		if escaped[s[i]] {
			dst = append(dst, s[written:i]...)
			dst = appendEscape(dst, s[i])
			written = i + 1
		}
	}
	return append(append(dst, s[written:]...), '"')
}

// escaped are the bytes that a JSON string cannot hold as they are.
var escaped = func() (set [256]bool) {
	for b := range ' ' {
		set[b] = true
	}
	set['"'], set['\\'] = true, true
	return set
}()

func appendEscape(dst []byte, b byte) []byte {
	switch b {
	case '"', '\\':
		return append(dst, '\\', b)
	case '\b':
		return append(dst, '\\', 'b')
	case '\t':
		return append(dst, '\\', 't')
	case '\n':
		return append(dst, '\\', 'n')
	case '\f':
		return append(dst, '\\', 'f')
	case '\r':
		return append(dst, '\\', 'r')
	default:
		const digits = "0123456789abcdef"
		return append(dst, '\\', 'u', '0', '0', digits[b>>4], digits[b&15])
	}
}
