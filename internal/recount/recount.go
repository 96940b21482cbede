package recount

import (
	"errors"
	"fmt"
	"time"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
)

// Question says what to count.
type Question struct {
	Rule     *rule.Rule
	From, To time.Time   // event time, To excluded; any moments
	Keys     []string    // as they count (Definition.KeyOf); nil: all
	Group    *rule.Group // one list; nil: the global one and those of all groups
}

// Options of counting.
type Options struct {
	Memory      int64  // in bytes, of which seven eighths are the budget of the aggregation; beyond it, it spills. At least MinMemory
	Directory   string // for what is spilled; "": that of the system for temporary files
	SkipDamaged bool   // damaged and foreign files are left out and named in Counts, instead of an error
	Progress    func(Progress)
}

// MinMemory is the least budget.
const MinMemory = 16 << 20

// Progress is how far a count came.
type Progress struct {
	Files, FilesDone int
	Rows, RowsDone   int64 // of all files; those not yet opened are estimated from their size
	Spilled          int64 // bytes
}

var (
	// ErrNoArchive is of a range in which no hour has a file.
	ErrNoArchive = errors.New("the archive has no file in the range")
	// ErrNoRecords is of a rule whose records no archive has.
	ErrNoRecords = errors.New("data points are not archived")
)

// check says what is wrong with a question.
func (q *Question) check() error {
	if !q.From.Before(q.To) {
		return fmt.Errorf("from %s is not before to %s", q.From.UTC().Format(time.RFC3339Nano), q.To.UTC().Format(time.RFC3339Nano))
	}
	d := q.Rule.Definition()
	for _, signal := range d.Signals {
		if signal == rule.SignalMetrics {
			return fmt.Errorf("rule %s counts %s: %w", d.Name, signal, ErrNoRecords)
		}
	}
	if q.Group != nil && q.Group.Scope != rule.ScopeGlobal && !d.Grouped() {
		return fmt.Errorf("rule %s has no group_by, so it has no %s list", d.Name, q.Group.Scope)
	}
	return nil
}

// span is the range in Unix nanoseconds, and its hours.
func (q *Question) span() (from, to int64, first, end archive.Hour) {
	from, to = q.From.UnixNano(), q.To.UnixNano()
	return from, to, archive.HourOf(from), archive.HourOf(to-1) + 1
}
