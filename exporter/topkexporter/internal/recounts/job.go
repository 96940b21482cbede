// Package recounts runs exact counts as jobs: some at once, some more wait, the rest are refused. Who asked for what and why, and
// what came out, outlasts the process where there is a storage.
package recounts

import (
	"fmt"
	"time"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
)

// Order is what is asked for.
type Order struct {
	Rule        string
	Fingerprint string // of its definition
	From, To    time.Time
	Group       rule.Group
	Parts       int      // of a key
	Keys        []string // as they count; nil: the heaviest K
	K           int
	Reason      string // in the words of who asks
	By          string // who asks: the name that auth knows, else the address; "": not known
}

// Status of a job.
type Status uint8

// What may be the status of a job.
const (
	Queued Status = iota
	Running
	Done
	Failed
	Canceled
)

var statusNames = [...]string{"queued", "running", "done", "failed", "canceled"}

// String is "queued", "running", "done", "failed" or "canceled".
func (s Status) String() string {
	if int(s) >= len(statusNames) {
		return fmt.Sprintf("Status(%d)", uint8(s))
	}
	return statusNames[s]
}

// Ended says whether nothing comes after s.
func (s Status) Ended() bool { return s >= Done }

// Job as it stands at one moment.
type Job struct {
	ID string
	Order
	Status   Status
	Progress float64   // 0 to 1
	Created  time.Time // by the clock of the exporter, as the others
	Started  time.Time // of the last attempt; zero: it was not
	Ended    time.Time // zero: it has not
	Attempts int       // that were started
	Error    string    // of a job that failed
}

// Result of a job that is done.
type Result struct {
	Items    []Item // of the keys in the order that they were asked for, or of the heaviest
	Weight   uint64 // of all keys of the list
	Records  uint64 // of the list
	Distinct uint64 // keys of the list; 0 where keys were asked for
	Files    int    // that were read
	Missing  []archive.Hour
	LeftOut  []string // damaged or foreign files, the first of them, with why
	NotRead  int      // how many files were left out
	Skipped  rule.Skipped
}

// Item is the exact count of one key.
type Item struct {
	Key     string
	Weight  uint64
	Records uint64
}

// Limits of what is kept of a job.
const (
	MaxReasonBytes = 1 << 10
	MaxKeys        = 1000

	maxByBytes     = 256
	maxErrorBytes  = 1 << 10
	maxLeftOut     = 100
	maxResultBytes = 32 << 20
	maxAttempts    = 3
)
