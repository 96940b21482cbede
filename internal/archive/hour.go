package archive

import "time"

// Hour is an hour of event time: whole hours since the Unix epoch, in UTC.
type Hour int64

// HourOf is the hour of the event time ns (Unix nanoseconds).
func HourOf(ns int64) Hour {
	h := Hour(ns / int64(time.Hour))
	if ns%int64(time.Hour) < 0 {
		h--
	}
	return h
}

// Start is the first moment of the hour.
func (h Hour) Start() time.Time { return time.Unix(int64(h)*3600, 0).UTC() }

// Day is the first hour of the day of UTC that holds the hour.
func (h Hour) Day() Hour { return h - (h%24+24)%24 }

// String is the hour as 2026-01-02T15.
func (h Hour) String() string { return h.Start().Format("2006-01-02T15") }
