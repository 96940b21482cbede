package main

import (
	"fmt"
	"time"
)

// defaultGrace is how long after its end an hour may still get records: segments are archived after five minutes by default.
const defaultGrace = 15 * time.Minute

// maxGrace is the longest that a segment may take.
const maxGrace = 24 * time.Hour

// closing finds out whether the range reaches into an hour whose records may not all be archived. That is refused, unless --open asks
// for it: then what is counted is said to be incomplete.
func (f *recountFlags) closing(a *asked, now time.Time) error {
	if f.grace < 0 || f.grace > maxGrace {
		return fmt.Errorf("--grace: %v is not in 0s..%v", f.grace, maxGrace)
	}
	closed := now.Add(-f.grace).Truncate(time.Hour).UTC()
	if !a.question.To.After(closed) {
		return nil
	}
	if f.open {
		a.openFrom = closed
		if a.question.From.After(closed) {
			a.openFrom = a.question.From.Truncate(time.Hour)
		}
		return nil
	}
	what := fmt.Sprintf("--to: %s reaches into an hour that is not closed", f.to)
	if a.question.From.After(now) {
		what = fmt.Sprintf("--from: %s is in the future", f.from)
	}
	return fmt.Errorf("%s: not all of its records may be archived; the newest closed time is %s (an hour is closed %v after it ends, --grace); "+
		"--open counts what there is", what, closed.Format(time.RFC3339), f.grace)
}
