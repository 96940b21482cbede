package eventsreceiver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
)

// invalid is why an event is rejected.
type invalid struct{ reason, text string }

func (e *invalid) Error() string { return e.text }

func reject(reason, format string, args ...any) *invalid {
	return &invalid{reason, fmt.Sprintf(format, args...)}
}

// Reasons for which events are rejected.
const (
	reasonDuplicate = "duplicate"
	reasonJSON      = "json"
	reasonTime      = "time"
	reasonDeep      = "too_deep"
	reasonLarge     = "too_large"
	reasonFields    = "too_many_fields"
)

// fill a record with the fields of an event; how many values were read.
func (b *batch) fill(record plog.LogRecord, event []byte) (int, *invalid) {
	if n := len(event); n > b.cfg.MaxEventBytes {
		return 0, reject(reasonLarge, "%d bytes, max_event_bytes allows %d", n, b.cfg.MaxEventBytes)
	}
	f := filler{d: json.NewDecoder(bytes.NewReader(event)), left: b.cfg.MaxFields, most: b.cfg.MaxFields}
	f.d.UseNumber()
	err := f.event(record, b.cfg.TimeField)
	return f.most - f.left, err
}

// filler reads one event.
type filler struct {
	d          *json.Decoder
	left, most int // fields
}

// event reads all into a record.
func (f *filler) event(record plog.LogRecord, timeField string) *invalid {
	if err := f.start(); err != nil {
		return err
	}
	fields := record.Attributes()
	seenTime, nulls := false, false
	for f.d.More() {
		name, err := f.name()
		switch {
		case err != nil:
			return err
		case name != timeField:
			err = f.field(fields, name, 1, &nulls)
		case seenTime:
			return reject(reasonDuplicate, "field %q: twice", cut(name))
		default:
			seenTime = true
			var at pcommon.Timestamp
			at, err = f.time(name)
			record.SetTimestamp(at)
		}
		if err != nil {
			return err
		}
	}
	dropNulls(fields, nulls)
	return f.end()
}

func (f *filler) token() (json.Token, *invalid) {
	t, err := f.d.Token()
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, reject(reasonJSON, "it ends within the event")
	case err != nil:
		return nil, reject(reasonJSON, "no JSON: %v", err)
	}
	return t, nil
}

func (f *filler) start() *invalid {
	t, err := f.token()
	if err != nil {
		return err
	}
	if t != json.Delim('{') {
		return reject(reasonJSON, "%s, only an object is an event", kindOf(t))
	}
	return nil
}

func (f *filler) end() *invalid {
	if _, err := f.token(); err != nil {
		return err
	}
	if _, err := f.d.Token(); !errors.Is(err, io.EOF) {
		return reject(reasonJSON, "something follows the object")
	}
	return nil
}

func (f *filler) name() (string, *invalid) {
	t, err := f.token()
	if err != nil {
		return "", err
	}
	name, _ := t.(string) // in an object it is
	return name, nil
}

// field reads the value called name into m.
func (f *filler) field(m pcommon.Map, name string, depth int, nulls *bool) *invalid {
	if _, ok := m.Get(name); ok {
		return reject(reasonDuplicate, "field %q: twice", cut(name))
	}
	t, err := f.token()
	if err != nil {
		return err
	}
	*nulls = *nulls || t == nil
	return f.value(m.PutEmpty(name), t, name, depth)
}

// dropNulls of a map that was read whole: they are as if they were not there.
func dropNulls(m pcommon.Map, found bool) {
	if found {
		m.RemoveIf(func(_ string, v pcommon.Value) bool { return v.Type() == pcommon.ValueTypeEmpty })
	}
}

// value reads what begins with t into v.
func (f *filler) value(v pcommon.Value, t json.Token, name string, depth int) *invalid {
	if f.left--; f.left < 0 {
		return reject(reasonFields, "more values than the %d that max_fields allows", f.most)
	}
	switch t := t.(type) {
	case string:
		v.SetStr(t)
	case bool:
		v.SetBool(t)
	case json.Number:
		return number(v, t, name)
	case json.Delim:
		if depth >= mostDepth {
			return reject(reasonDeep, "field %q: values in values, at most %d deep is allowed", cut(name), mostDepth)
		}
		if t == '{' {
			return f.object(v.SetEmptyMap(), depth+1)
		}
		return f.array(v.SetEmptySlice(), name, depth+1)
	}
	return nil
}

func (f *filler) object(m pcommon.Map, depth int) *invalid {
	nulls := false
	for f.d.More() {
		name, err := f.name()
		if err != nil {
			return err
		}
		if err := f.field(m, name, depth, &nulls); err != nil {
			return err
		}
	}
	dropNulls(m, nulls)
	_, err := f.token()
	return err
}

func (f *filler) array(s pcommon.Slice, name string, depth int) *invalid {
	for f.d.More() {
		t, err := f.token()
		if err != nil {
			return err
		}
		if err := f.value(s.AppendEmpty(), t, name, depth); err != nil {
			return err
		}
	}
	_, err := f.token()
	return err
}

// number is an integer where it can be one without loss, else a double.
func number(v pcommon.Value, n json.Number, name string) *invalid {
	if i, err := n.Int64(); err == nil {
		v.SetInt(i)
		return nil
	}
	d, err := n.Float64()
	if err != nil {
		return reject(reasonJSON, "field %q: %s is beyond the largest number", cut(name), cut(n.String()))
	}
	v.SetDouble(d)
	return nil
}

// Numbers of Unix time are told apart by their size: seconds are below the year 5138, and so on in thousands.
var units = []struct{ below, unit int64 }{{1e11, 1e9}, {1e14, 1e6}, {1e17, 1e3}, {math.MaxInt64, 1}}

// unixTime is a Unix time as a timestamp, and whether it is one from 1 second to the year 2262.
func unixTime(n json.Number) (pcommon.Timestamp, bool) {
	if i, err := n.Int64(); err == nil {
		for _, u := range units {
			if i < u.below || u.unit == 1 {
				return pcommon.Timestamp(i * u.unit), i >= 1 && i <= math.MaxInt64/u.unit
			}
		}
	}
	f, err := n.Float64()
	for _, u := range units {
		if f < float64(u.below) {
			ns := f * float64(u.unit)
			return pcommon.Timestamp(ns), err == nil && f >= 1 && ns < math.MaxInt64
		}
	}
	return 0, false
}

// time reads when an event was; 0: it does not say.
func (f *filler) time(name string) (pcommon.Timestamp, *invalid) {
	t, bad := f.token()
	if bad != nil {
		return 0, bad
	}
	wrong := func(got string) *invalid {
		return reject(reasonTime, "field %q: %s is no time; allowed is RFC 3339 such as 2026-01-02T15:04:05Z, or a Unix time from 1 second to the year 2262, in s, ms, us or ns",
			cut(name), cut(got))
	}
	switch t := t.(type) {
	case nil:
		return 0, nil
	case string:
		at, err := time.Parse(time.RFC3339Nano, t)
		if err != nil || at.Unix() < 1 || at.Year() > 2261 {
			return 0, wrong(strconv.Quote(t))
		}
		return pcommon.NewTimestampFromTime(at), nil
	case json.Number:
		at, ok := unixTime(t)
		if !ok {
			return 0, wrong(t.String())
		}
		return at, nil
	}
	return 0, wrong(kindOf(t))
}

func kindOf(t json.Token) string {
	switch t := t.(type) {
	case nil:
		return "null"
	case string:
		return "a text"
	case bool:
		return "a bool"
	case json.Number:
		return "a number"
	case json.Delim:
		if t == '[' {
			return "an array"
		}
		return "an object"
	}
	return "nothing"
}

// shown is how much of a client's own text an answer repeats.
const shown = 64

func cut(text string) string {
	if len(text) <= shown {
		return text
	}
	n := shown
	for !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "..."
}
