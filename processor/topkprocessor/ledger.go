package topkprocessor

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/collector/component"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/uplink"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/topk"
)

// ledger is what is counted for one rule, in all stripes.
//
// Once floor has passed a minute and every stripe's lock was held once since, no stripe touches that minute's bucket again:
// a stripe reads floor with its lock held. That is how a bucket closes without a lock of its own on the way of records.
type ledger struct {
	index      int // in rules
	rule       *rule.Rule
	definition *rule.Definition
	empty      *topk.Summary // cloned for each new cell
	overhead   int           // bytes of a state without summary and group name
	maxGroups  int
	stripes    int
	stamped    bool // partition stamps what it finds

	clock  window.Clock // as configured; its Newest is newest
	newest atomic.Int64 // newest event counted, Unix nanoseconds
	floor  atomic.Int64 // first minute that may be counted into

	mu      sync.RWMutex
	buckets map[window.Minute]*bucket // open ones
	last    *bucket                   // the newest closed one, while none is open

	tally tally
	watch watch
}

// tally counts records by what became of them.
type tally struct {
	counted, late, future, overflowed              atomic.Uint64
	unmatched, missingKey, badWeight, failed, full atomic.Uint64
	cut, repaired                                  atomic.Uint64
}

func newLedger(index int, cfg *Config, stripes int, set component.TelemetrySettings) (*ledger, error) {
	r := cfg.Rules[index]
	compiled, err := rule.New(r, rule.SeedOf(string(cfg.Seed)), string(cfg.Seed), set)
	if err != nil {
		return nil, err
	}
	d := compiled.Definition()
	l, err := ledgerOf(d, stripes)
	if err != nil {
		return nil, err
	}
	l.index, l.rule, l.maxGroups = index, compiled, r.MaxGroups
	l.clock = window.Clock{Lateness: cfg.Lateness, Future: cfg.Future, Event: cfg.Clock == clockEvent}
	return l, nil
}

// ledgerOf a definition, without a rule.
func ledgerOf(d *rule.Definition, stripes int) (*ledger, error) {
	empty, err := topk.New(d.Residents, d.Shape)
	if err != nil {
		return nil, fmt.Errorf("accuracy: %w", err)
	}
	overhead, err := uplink.Overhead(d)
	if err != nil {
		return nil, err
	}
	l := &ledger{definition: d, empty: empty, overhead: overhead, stripes: stripes, buckets: map[window.Minute]*bucket{}}
	l.floor.Store(math.MinInt64)
	return l, nil
}

// at is the clock as it stands. Records of one batch are judged by one clock.
func (l *ledger) at() window.Clock {
	c := l.clock
	c.Newest = l.newest.Load()
	return c
}

// observe moves an event clock.
func (l *ledger) observe(ns int64) { raise(&l.newest, ns) }

// bucket of a minute that is open.
func (l *ledger) bucket(m window.Minute) *bucket {
	l.mu.RLock()
	b := l.buckets[m]
	l.mu.RUnlock()
	if b != nil {
		return b
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if b = l.buckets[m]; b == nil {
		b = newBucket(l, m, l.before(m))
		l.buckets[m] = b
		l.last = nil
	}
	return b
}

// before is the newest bucket older than m, or nil.
func (l *ledger) before(m window.Minute) *bucket {
	var found *bucket
	if l.last != nil && l.last.minute < m {
		found = l.last
	}
	for minute, b := range l.buckets {
		if minute < m && (found == nil || minute > found.minute) {
			found = b
		}
	}
	return found
}

// open is the open buckets, in no order.
func (l *ledger) open() []*bucket {
	l.mu.RLock()
	defer l.mu.RUnlock()
	open := make([]*bucket, 0, len(l.buckets))
	for _, b := range l.buckets {
		open = append(open, b)
	}
	return open
}

// due says whether a bucket has closed by the clock and stands open still.
func (l *ledger) due(now int64) bool {
	clock := l.at()
	l.mu.RLock()
	defer l.mu.RUnlock()
	for m := range l.buckets {
		if clock.Closed(m, now) {
			return true
		}
	}
	return false
}

// take the buckets before floor out of the open ones, oldest first. What they expected is let go; they are expected from
// themselves for as long as the bucket after them runs.
func (l *ledger) take(floor window.Minute, now int64) []*bucket {
	clock := l.at()
	l.mu.Lock()
	defer l.mu.Unlock()
	var taken []*bucket
	for m, b := range l.buckets {
		if m < floor {
			taken = append(taken, b)
			delete(l.buckets, m)
			b.before.Store(nil)
		}
	}
	if len(taken) == 0 {
		return nil
	}
	slices.SortFunc(taken, func(a, b *bucket) int { return cmp.Compare(a.minute, b.minute) })
	for _, b := range l.buckets {
		if prior := b.before.Load(); prior != nil && prior.minute < floor && b.end <= clock.Now(now) {
			b.before.Store(nil)
		}
	}
	if len(l.buckets) == 0 {
		l.last = taken[len(taken)-1]
	}
	return taken
}

// raise sets a to v if that is more.
func raise(a *atomic.Int64, v int64) {
	for {
		old := a.Load()
		if v <= old || a.CompareAndSwap(old, v) {
			return
		}
	}
}
