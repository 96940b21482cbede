package dataset

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Key that a stream is counted by.
type Key struct {
	Name  string   // as exact.json has it
	Paths []string // as a rule has it; several for a composite key, whose parts exact.json joins with "|"

	// Residents that a rule needs to list the ten most frequent texts in their order; 0: its default. Where the stream is
	// nearly uniform, the next hundreds of texts come as often, and a smaller table may list others: its certificates say so.
	Residents int
}

// Stream is the records of one signal, sorted by time.
type Stream struct {
	Set, Name string
	Signal    string // "logs" or "traces"
	Keys      []Key
	Times     []int64    // Unix nanoseconds, by record; without any of their own they are stamped 1 ms apart
	Values    [][]string // by key, then by record; "" where the record has none

	order   []int           // record i is record order[i] of the source
	origin  func(i int) int // number of the source record's resource and scope
	put     func(origin int, res pcommon.Resource, scope pcommon.InstrumentationScope)
	putLog  func(i int, to plog.LogRecord) // of the source record; one of these two is set
	putSpan func(i int, to ptrace.Span)
}

// epoch of the records without time.
var epoch = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// needs says how many residents a key needs that is nearly uniform.
func (s *Stream) needs(name string, residents int) {
	for k := range s.Keys {
		if s.Keys[k].Name == name {
			s.Keys[k].Residents = residents
		}
	}
}

// sort by time; records of one time keep their order.
func (s *Stream) sort() {
	s.order = make([]int, len(s.Times))
	for i := range s.order {
		s.order[i] = i
	}
	slices.SortStableFunc(s.order, func(a, b int) int { return cmp.Compare(s.Times[a], s.Times[b]) })
	s.Times = permuted(s.Times, s.order)
	for k := range s.Values {
		s.Values[k] = permuted(s.Values[k], s.order)
	}
}

func permuted[T any](list []T, order []int) []T {
	out := make([]T, len(list))
	for i, from := range order {
		out[i] = list[from]
	}
	return out
}

// Len is the number of records.
func (s *Stream) Len() int { return len(s.Times) }

// Logs makes a request of these records, in this order. The stream's signal is logs.
func (s *Stream) Logs(records iter.Seq[int]) plog.Logs {
	ld, last := plog.NewLogs(), -1
	var list plog.LogRecordSlice
	for i := range records {
		from := s.order[i]
		if origin := s.origin(from); origin != last {
			rl := ld.ResourceLogs().AppendEmpty()
			sl := rl.ScopeLogs().AppendEmpty()
			s.put(origin, rl.Resource(), sl.Scope())
			list, last = sl.LogRecords(), origin
		}
		s.putLog(from, list.AppendEmpty())
	}
	return ld
}

// Traces makes a request of these records, in this order. The stream's signal is traces.
func (s *Stream) Traces(records iter.Seq[int]) ptrace.Traces {
	td, last := ptrace.NewTraces(), -1
	var list ptrace.SpanSlice
	for i := range records {
		from := s.order[i]
		if origin := s.origin(from); origin != last {
			rs := td.ResourceSpans().AppendEmpty()
			ss := rs.ScopeSpans().AppendEmpty()
			s.put(origin, rs.Resource(), ss.Scope())
			list, last = ss.Spans(), origin
		}
		s.putSpan(from, list.AppendEmpty())
	}
	return td
}
