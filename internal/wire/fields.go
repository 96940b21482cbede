package wire

import (
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// fields reads a map by name and keeps the first refusal; after it every read gives a zero value.
type fields struct {
	m       pcommon.Map
	path    string
	refusal **Refusal
}

func (f fields) refuse(reason Reason, format string, args ...any) {
	if *f.refusal == nil {
		*f.refusal = refuse(reason, format, args...)
	}
}

// get finds a field of type t; a missing one is refused only if it is needed.
func (f fields) get(name string, t pcommon.ValueType, needed bool) (pcommon.Value, bool) {
	v, ok := f.m.Get(name)
	switch {
	case *f.refusal != nil:
		return v, false
	case !ok && needed:
		f.refuse(ReasonInvalid, "%s%s: missing", f.path, name)
	case ok && v.Type() != t:
		f.refuse(ReasonInvalid, "%s%s: a %s, only a %s is allowed", f.path, name, v.Type(), t)
		ok = false
	}
	return v, ok
}

func (f fields) text(name string, needed bool) string {
	v, ok := f.get(name, pcommon.ValueTypeStr, needed)
	if !ok {
		return ""
	}
	if !utf8.ValidString(v.Str()) {
		f.refuse(ReasonInvalid, "%s%s: not UTF-8", f.path, name)
	}
	return v.Str()
}

func (f fields) bool(name string) bool {
	v, ok := f.get(name, pcommon.ValueTypeBool, true)
	return ok && v.Bool()
}

func (f fields) double(name string) float64 {
	v, ok := f.get(name, pcommon.ValueTypeDouble, true)
	if !ok {
		return 0
	}
	return v.Double()
}

// uint reads a count: a number, or decimal text above the largest integer.
func (f fields) uint(name string) uint64 {
	if v, ok := f.m.Get(name); ok && v.Type() == pcommon.ValueTypeStr {
		n, err := strconv.ParseUint(v.Str(), 10, 64)
		if err != nil || n <= math.MaxInt64 {
			f.refuse(ReasonInvalid, "%s%s: text, only a number above 2^63-1 is allowed as text", f.path, name)
		}
		return n
	}
	v, ok := f.get(name, pcommon.ValueTypeInt, true)
	if !ok {
		return 0
	}
	if v.Int() < 0 {
		f.refuse(ReasonInvalid, "%s%s: negative", f.path, name)
	}
	return uint64(v.Int())
}

// int reads a number from low to high.
func (f fields) int(name string, low, high int64) int {
	v, ok := f.get(name, pcommon.ValueTypeInt, true)
	if !ok {
		return 0
	}
	if n := v.Int(); n < low || n > high {
		f.refuse(ReasonInvalid, "%s%s: %d, allowed is %d to %d", f.path, name, n, low, high)
		return 0
	}
	return int(v.Int())
}

// time reads RFC 3339; a missing one is the zero time.
func (f fields) time(name string) time.Time {
	v, ok := f.get(name, pcommon.ValueTypeStr, false)
	if !ok {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, v.Str())
	if err != nil {
		f.refuse(ReasonInvalid, "%s%s: not a time of RFC 3339", f.path, name)
	}
	return t.UTC()
}

func (f fields) slice(name string) pcommon.Slice {
	v, ok := f.get(name, pcommon.ValueTypeSlice, true)
	if !ok {
		return pcommon.NewSlice()
	}
	return v.Slice()
}

func (f fields) sub(name string) fields {
	v, ok := f.get(name, pcommon.ValueTypeMap, true)
	if !ok {
		return fields{pcommon.NewMap(), f.path + name + ".", f.refusal}
	}
	return fields{v.Map(), f.path + name + ".", f.refusal}
}

// maps yields the maps of a list.
func (f fields) maps(name string) func(yield func(int, fields) bool) {
	return func(yield func(int, fields) bool) {
		for i, v := range f.slice(name).All() {
			path := f.path + name + "[" + strconv.Itoa(i) + "]"
			if v.Type() != pcommon.ValueTypeMap {
				f.refuse(ReasonInvalid, "%s: a %s, only a Map is allowed", path, v.Type())
			}
			if *f.refusal != nil || !yield(i, fields{v.Map(), path + ".", f.refusal}) {
				return
			}
		}
	}
}

func (f fields) texts(name string) []string {
	list := f.slice(name)
	if list.Len() == 0 {
		return nil
	}
	texts := make([]string, 0, list.Len())
	for i, v := range list.All() {
		if v.Type() != pcommon.ValueTypeStr || !utf8.ValidString(v.Str()) {
			f.refuse(ReasonInvalid, "%s%s[%d]: only UTF-8 text is allowed", f.path, name, i)
		}
		texts = append(texts, v.Str())
	}
	return texts
}
