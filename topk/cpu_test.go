package topk

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime is what the process has used: on a shared machine it says more than the wall clock.
func cpuTime(tb testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
