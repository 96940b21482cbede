package window

import (
	"fmt"
	"strconv"
	"time"
)

// Name of a window as the API writes it: 5m, 1h, 24h; 90m where it is no whole number of hours.
func Name(d time.Duration) string {
	if d%time.Hour == 0 {
		return strconv.FormatInt(int64(d/time.Hour), 10) + "h"
	}
	return strconv.FormatInt(int64(d/time.Minute), 10) + "m"
}

// Parse is the inverse of Name. It takes every way to write a whole, positive number of buckets: 60m is 1h, 90s is none.
func Parse(name string) (time.Duration, error) {
	d, err := time.ParseDuration(name)
	if err != nil || d <= 0 || d%Bucket != 0 {
		return 0, fmt.Errorf("window %q: a multiple of %s is allowed, as 5m, 1h or 24h", name, Name(Bucket))
	}
	return d, nil
}
