package recount

import (
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
)

// window is the part of a file that a question is about. Records outside it are taken out before the rule sees them, so that also
// what it skips is of the range alone.
type window struct {
	from, to int64 // event time, to excluded
	whole    bool  // all records of the file are in it
	early    bool  // the rule counts at other times than those that name the hours
	byStart  bool
	events   bool
}

func newWindow(q *Question, f archive.File) window {
	from, to, _, _ := q.span()
	w := window{from: from, to: to, early: q.Rule.Early(f.Signal), byStart: q.Rule.Config().Time == rule.TimeStart}
	w.events = w.early && !w.byStart
	start := f.Hour.Start().UnixNano()
	w.whole = !w.early && from <= start && start+int64(time.Hour) <= to
	if w.whole {
		w.from, w.to = start, start+int64(time.Hour)
	}
	return w
}

// misses says whether nothing in the file can be in the range.
func (w *window) misses(m archive.Meta) bool {
	start := m.Hour.Start().UnixNano()
	inRange := start < w.to && start+int64(time.Hour) > w.from
	return !inRange && (m.First >= w.to || m.Last < w.from)
}

// holds says whether all of times are in the window. Those of a whole file are, unless it does not hold what its name says.
func (w *window) holds(times []int64) bool {
	for _, t := range times {
		if t < w.from || t >= w.to {
			return false
		}
	}
	return true
}

// walk lets r count what of b is in the window. rows is how many records b had.
func (w *window) walk(r *rule.Rule, b *archive.Batch, into *rule.Batch) (rows int) {
	into.Sizes = b.Sizes
	if b.Logs != (plog.Logs{}) {
		rows = b.Logs.LogRecordCount()
		if !w.whole {
			into.Sizes = w.cutLogs(b)
		}
		r.Logs(b.Logs, b.Now, into)
		return rows
	}
	rows = b.Traces.SpanCount()
	if !w.whole {
		into.Sizes = w.cutTraces(b)
	}
	r.Traces(b.Traces, b.Now, into)
	return rows
}

func (w *window) outside(at int64) bool { return at < w.from || at >= w.to }

// cutLogs leaves the records in the window, and returns the sizes of those.
func (w *window) cutLogs(b *archive.Batch) []int {
	kept := sizes{all: b.Sizes}
	for _, rl := range b.Logs.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			sl.LogRecords().RemoveIf(func(record plog.LogRecord) bool { return !kept.next(!w.outside(rule.LogTime(record, b.Now))) })
		}
	}
	return kept.kept
}

// cutTraces leaves the spans in the window, or where events count, the events.
func (w *window) cutTraces(b *archive.Batch) []int {
	kept := sizes{all: b.Sizes}
	for _, rs := range b.Traces.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			if w.events {
				w.cutEvents(ss, b.Now)
				continue
			}
			ss.Spans().RemoveIf(func(span ptrace.Span) bool { return !kept.next(!w.outside(rule.SpanTime(span, w.byStart, b.Now))) })
		}
	}
	return kept.kept
}

func (w *window) cutEvents(ss ptrace.ScopeSpans, now int64) {
	for _, span := range ss.Spans().All() {
		span.Events().RemoveIf(func(event ptrace.SpanEvent) bool { return w.outside(rule.EventTime(span, event, now)) })
	}
}

// sizes follows which records are kept.
type sizes struct {
	all, kept []int // nil: not asked for
	at        int
}

// next notes whether the next record is kept, and says so.
func (s *sizes) next(keep bool) bool {
	if s.all != nil && s.kept == nil {
		s.kept = make([]int, 0, len(s.all))
	}
	if s.all != nil && keep {
		s.kept = append(s.kept, s.all[s.at])
	}
	s.at++
	return keep
}
