// Package window holds the rules of time: buckets, lateness, parts and windows. Time is always an argument.
package window

import (
	"math"
	"time"
)

// Bucket is the unit of counting.
const Bucket = time.Minute

// Minute is a bucket of event time: whole minutes since the Unix epoch (rounded down, also before it).
type Minute int64

// MinuteOf is the bucket of the event time ns (Unix nanoseconds).
func MinuteOf(ns int64) Minute {
	return Minute(floor(ns, int64(Bucket)))
}

// Start is the first nanosecond of the bucket. Start and End stay inside int64, whatever m is.
func (m Minute) Start() int64 {
	switch {
	case m > math.MaxInt64/Minute(Bucket):
		return math.MaxInt64
	case m < math.MinInt64/Minute(Bucket):
		return math.MinInt64
	}
	return int64(m) * int64(Bucket)
}

// End is the first nanosecond after the bucket.
func (m Minute) End() int64 {
	if m == math.MaxInt64 {
		return math.MaxInt64
	}
	return (m + 1).Start()
}

// floor is a/b rounded down.
func floor(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// add is ns+d, or the int64 limit that it passes.
func add(ns int64, d time.Duration) int64 {
	sum := ns + int64(d)
	switch {
	case d > 0 && sum < ns:
		return math.MaxInt64
	case d < 0 && sum > ns:
		return math.MinInt64
	}
	return sum
}
