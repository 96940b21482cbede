package parquetexporter

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
)

// deepest is how many lists and maps in one another a value may have in a segment. pdata writes any number, and reads no more than 100
// messages in one another, of which a level is up to three and what lies around a value up to seven.
const deepest = 30

// flattener looks for values that are deeper, and can put their texts in their place.
type flattener struct {
	replace bool
	found   int64
}

func (f *flattener) value(v pcommon.Value) {
	if archive.Shallow(v, deepest) {
		return
	}
	f.found++
	if f.replace {
		v.SetStr(rule.Repaired(string(rule.AppendText(nil, v))))
	}
}

func (f *flattener) values(m pcommon.Map) {
	for _, v := range m.All() {
		f.value(v)
	}
}

func (f *flattener) logs(ld plog.Logs) {
	for _, rl := range ld.ResourceLogs().All() {
		f.values(rl.Resource().Attributes())
		for _, sl := range rl.ScopeLogs().All() {
			f.values(sl.Scope().Attributes())
			for _, record := range sl.LogRecords().All() {
				f.value(record.Body())
				f.values(record.Attributes())
			}
		}
	}
}

func (f *flattener) traces(td ptrace.Traces) {
	for _, rs := range td.ResourceSpans().All() {
		f.values(rs.Resource().Attributes())
		for _, ss := range rs.ScopeSpans().All() {
			f.values(ss.Scope().Attributes())
			for _, span := range ss.Spans().All() {
				f.values(span.Attributes())
				for _, event := range span.Events().All() {
					f.values(event.Attributes())
				}
				for _, link := range span.Links().All() {
					f.values(link.Attributes())
				}
			}
		}
	}
}

// flatLogs is ld, or where values in it are too deep, a copy with their texts; and how many there were.
func flatLogs(ld plog.Logs) (plog.Logs, int64) {
	var look flattener
	if look.logs(ld); look.found == 0 {
		return ld, 0
	}
	flat := plog.NewLogs()
	ld.CopyTo(flat)
	(&flattener{replace: true}).logs(flat)
	return flat, look.found
}

// flatTraces is the same of spans.
func flatTraces(td ptrace.Traces) (ptrace.Traces, int64) {
	var look flattener
	if look.traces(td); look.found == 0 {
		return td, 0
	}
	flat := ptrace.NewTraces()
	td.CopyTo(flat)
	(&flattener{replace: true}).traces(flat)
	return flat, look.found
}
