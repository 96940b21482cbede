package shared

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Kind of a failure of the server, or of the way to it.
type Kind uint8

// The kinds of failures.
const (
	Timeout    Kind = iota // no answer in time
	Connection             // there is none
	Denied                 // of this login, or to it
	Unwritable             // it has no room, or takes no writes
	Busy                   // it loads, or runs a script of somebody else
	Other                  // any other refusal
	kinds
)

func (k Kind) String() string {
	return [...]string{"timeout", "connection", "denied", "unwritable", "busy", "other"}[k]
}

// kindsByWord are those of which the server says so by the first word of its error.
var kindsByWord = map[string]Kind{
	"NOAUTH": Denied, "WRONGPASS": Denied, "NOPERM": Denied, "NOSCRIPT": Denied, // the last: it may not be loaded
	"OOM": Unwritable, "MISCONF": Unwritable, "READONLY": Unwritable, "NOREPLICAS": Unwritable,
	"LOADING": Busy, "BUSY": Busy, "MASTERDOWN": Busy,
}

func kindOf(err error) Kind {
	var reply redis.Error
	if errors.As(err, &reply) {
		word, _, _ := strings.Cut(reply.Error(), " ")
		if kind, known := kindsByWord[word]; known {
			return kind
		}
		return Other
	}
	var network net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, redis.ErrPoolTimeout) || errors.As(err, &network) && network.Timeout() {
		return Timeout
	}
	return Connection
}

// Log hears what an operator is to know. Functions may be nil.
type Log struct {
	// Failing is called when the server begins to fail, with the error, and when that ends, with nil.
	Failing func(error)

	// Refused is called for a list that alone is not taken, or cannot be read.
	Refused func(error)
}

// Health of what is written or read. It may be read at any time.
type Health struct {
	Written, Kept atomic.Uint64 // lists that were written, and those of another writer that stayed
	Taken         atomic.Uint64 // lists that were read
	Refused       atomic.Uint64 // lists that alone were not taken, or could not be read

	log      Log
	failures [kinds]atomic.Uint64

	mu      sync.Mutex
	failing bool
	last    time.Time // when all went well, or the beginning
}

func (h *Health) begin(log Log, now time.Time) { h.log, h.last = log, now }

func (h *Health) note(err error, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.failing
	if h.failing = err != nil; h.failing {
		h.failures[kindOf(err)].Add(1)
	} else {
		h.last = now
	}
	if h.failing != before && h.log.Failing != nil {
		h.log.Failing(err)
	}
}

// refuse one list.
func (h *Health) refuse(err error) {
	h.Refused.Add(1)
	if h.log.Refused != nil {
		h.log.Refused(err)
	}
}

// Failures by kind: calls that failed.
func (h *Health) Failures() map[Kind]uint64 {
	all := make(map[Kind]uint64, kinds)
	for kind := range kinds {
		all[kind] = h.failures[kind].Load()
	}
	return all
}

// Up says whether the last call went well.
func (h *Health) Up() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.failing
}

// Age is how long nothing went well.
func (h *Health) Age(now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return now.Sub(h.last)
}
