package parquetexporter

import (
	"iter"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

func logRecords(ld plog.Logs) iter.Seq[plog.LogRecord] {
	return func(yield func(plog.LogRecord) bool) {
		for _, rl := range ld.ResourceLogs().All() {
			for _, sl := range rl.ScopeLogs().All() {
				for _, record := range sl.LogRecords().All() {
					if !yield(record) {
						return
					}
				}
			}
		}
	}
}

func spans(td ptrace.Traces) iter.Seq[ptrace.Span] {
	return func(yield func(ptrace.Span) bool) {
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, span := range ss.Spans().All() {
					if !yield(span) {
						return
					}
				}
			}
		}
	}
}
