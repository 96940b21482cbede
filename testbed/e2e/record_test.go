package e2e

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// day of all scenarios; their times are times of this day.
const day = "2026-03-02"

// record is a line of a scenario.
type record struct {
	N          int     `json:"n"`        // how many of it; 0: one
	Time       string  `json:"t"`        // log: timestamp, span: end, data point: time; "": none
	Other      string  `json:"other"`    // log: observed timestamp, span: start
	Attributes object  `json:"a"`        // of the record
	Resource   object  `json:"resource"` // its attributes
	Name       string  `json:"name"`     // of a span or metric
	Value      float64 `json:"v"`        // of a data point
}

func parseRecords(text string) ([]record, error) {
	var records []record
	for line := range strings.Lines(text) {
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		var r record
		if err := d.Decode(&r); err != nil {
			return nil, fmt.Errorf("%w in %s", err, line)
		}
		for range max(r.N, 1) {
			records = append(records, r)
		}
	}
	return records, nil
}

func timestamp(text string) pcommon.Timestamp {
	if text == "" {
		return 0
	}
	at, err := time.Parse("2006-01-02 15:04:05", day+" "+text)
	if err != nil {
		at, err = time.Parse(time.RFC3339, text)
	}
	if err != nil {
		panic(err)
	}
	return pcommon.NewTimestampFromTime(at)
}

func logsOf(records []record) plog.Logs {
	ld := plog.NewLogs()
	for _, r := range records {
		rl := ld.ResourceLogs().AppendEmpty()
		putAll(rl.Resource().Attributes(), r.Resource)
		lr := rl.ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
		lr.SetTimestamp(timestamp(r.Time))
		lr.SetObservedTimestamp(timestamp(r.Other))
		putAll(lr.Attributes(), r.Attributes)
	}
	return ld
}

func spansOf(records []record) ptrace.Traces {
	td := ptrace.NewTraces()
	for _, r := range records {
		rs := td.ResourceSpans().AppendEmpty()
		putAll(rs.Resource().Attributes(), r.Resource)
		span := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		span.SetName(r.Name)
		span.SetStartTimestamp(timestamp(r.Other))
		span.SetEndTimestamp(timestamp(r.Time))
		putAll(span.Attributes(), r.Attributes)
	}
	return td
}

func pointsOf(records []record) pmetric.Metrics {
	md := pmetric.NewMetrics()
	for _, r := range records {
		rm := md.ResourceMetrics().AppendEmpty()
		putAll(rm.Resource().Attributes(), r.Resource)
		metric := rm.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
		metric.SetName(r.Name)
		point := metric.SetEmptySum().DataPoints().AppendEmpty()
		point.SetTimestamp(timestamp(r.Time))
		point.SetDoubleValue(r.Value)
		putAll(point.Attributes(), r.Attributes)
	}
	return md
}

// object is a JSON object whose members keep their order.
type object []member

type member struct {
	name  string
	value any // string, bool, json.Number, nil, []any or object
}

func (o *object) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := readValue(d)
	if err != nil {
		return err
	}
	*o = v.(object)
	return nil
}

func readValue(d *json.Decoder) (any, error) {
	token, err := d.Token()
	switch {
	case err != nil:
		return nil, err
	case token == json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := readValue(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	case token == json.Delim('{'):
		o := object{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := readValue(d)
			if err != nil {
				return nil, err
			}
			o = append(o, member{name.(string), v})
		}
		_, err = d.Token()
		return o, err
	}
	return token, nil
}

func putAll(to pcommon.Map, o object) {
	for _, m := range o {
		put(to.PutEmpty(m.name), m.value)
	}
}

// put a value as JSON has it: 200 is an integer and 200.0 a double. {"bytes": "ff"} is bytes, {"text": "61ff"} the text of
// these bytes, valid or not, and {"double": "NaN"} what JSON cannot write.
func put(to pcommon.Value, v any) {
	switch v := v.(type) {
	case string:
		to.SetStr(v)
	case bool:
		to.SetBool(v)
	case json.Number:
		if i, err := v.Int64(); err == nil {
			to.SetInt(i)
		} else {
			f, _ := v.Float64()
			to.SetDouble(f)
		}
	case []any:
		list := to.SetEmptySlice()
		for _, element := range v {
			put(list.AppendEmpty(), element)
		}
	case object:
		putObject(to, v)
	}
}

func putObject(to pcommon.Value, o object) {
	if len(o) == 1 {
		text, _ := o[0].value.(string)
		switch o[0].name {
		case "bytes":
			to.SetEmptyBytes().FromRaw(unhex(text))
			return
		case "text":
			to.SetStr(string(unhex(text)))
			return
		case "double":
			f, _ := strconv.ParseFloat(text, 64)
			to.SetDouble(f)
			return
		}
	}
	putAll(to.SetEmptyMap(), o)
}

func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}
