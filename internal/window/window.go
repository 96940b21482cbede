// Package window holds the rules of time: buckets, lateness, parts and windows. Time is always an argument.
package window

import "time"

// Bucket is the unit of counting.
const Bucket = time.Minute

// Minute is a bucket of event time: whole minutes since the Unix epoch (rounded down, also before it).
type Minute int64

// MinuteOf the event time ns (Unix nanoseconds). Start and End of the bucket are Unix nanoseconds; End is exclusive.
func MinuteOf(ns int64) Minute { panic("stub") }

func (m Minute) Start() int64 { panic("stub") }
func (m Minute) End() int64   { panic("stub") }

// Verdict on a record's time.
type Verdict uint8

const (
	OnTime Verdict = iota
	Late           // its bucket has closed
	Future         // further ahead of the wall clock than allowed
)

// Clock judges event times. The zero value is a wall clock without lateness. Not safe for concurrent use.
type Clock struct {
	Lateness time.Duration // how long a bucket stays open after its end
	Future   time.Duration // how far ahead of the wall clock a record may be
	Event    bool          // time is the newest event, not the wall clock
	Newest   int64         // newest event observed, Unix nanoseconds; 0: none
}

// Judge says what becomes of a record of event time ns that arrives at now. Observe moves an event clock; call it with
// every counted record. Now is the time the clock shows: now, or the newest event. Closed says whether the bucket takes
// no more records.
func (c *Clock) Judge(ns, now int64) Verdict     { panic("stub") }
func (c *Clock) Observe(ns int64)                { panic("stub") }
func (c *Clock) Now(now int64) int64             { panic("stub") }
func (c *Clock) Closed(m Minute, now int64) bool { panic("stub") }

// Name of a window as the API writes it: 5m, 1h, 24h, 90s is not one. Parse is its inverse.
func Name(d time.Duration) string              { panic("stub") }
func Parse(name string) (time.Duration, error) { panic("stub") }
