package window

import "time"

// Verdict on a record's time.
type Verdict uint8

const (
	// OnTime is a record whose bucket is open.
	OnTime Verdict = iota
	// Late is a record whose bucket has closed.
	Late
	// Future is a record further ahead of the wall clock than allowed.
	Future
)

// Clock judges event times. The zero value is a wall clock without lateness. Not safe for concurrent use.
type Clock struct {
	Lateness time.Duration // how long a bucket stays open after its end
	Future   time.Duration // how far ahead of the wall clock a record may be
	Event    bool          // time is the newest event, not the wall clock
	Newest   int64         // newest event observed, Unix nanoseconds; 0: none
}

// Judge says what becomes of a record of event time ns that arrives at now. What is ahead is measured against the wall
// clock only, so that no record moves the clock that judges it.
func (c *Clock) Judge(ns, now int64) Verdict {
	switch {
	case ns > add(now, c.Future):
		return Future
	case c.Closed(MinuteOf(ns), now):
		return Late
	}
	return OnTime
}

// Observe moves an event clock; call it with every counted record.
func (c *Clock) Observe(ns int64) {
	if c.Newest == 0 || ns > c.Newest {
		c.Newest = ns
	}
}

// Now is the time the clock shows: now, or the newest event (0 before the first).
func (c *Clock) Now(now int64) int64 {
	if c.Event {
		return c.Newest
	}
	return now
}

// Closed says whether the bucket takes no more records.
func (c *Clock) Closed(m Minute, now int64) bool {
	if c.Event && c.Newest == 0 {
		return false
	}
	return add(m.End(), c.Lateness) <= c.Now(now)
}
