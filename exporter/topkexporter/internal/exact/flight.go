package exact

import (
	"context"
	"sync"
	"time"

	"github.com/otel-topk/collector/internal/rule"
)

const (
	patience     = time.Second // that a reader waits for a list
	mostFlights  = 256         // lists that are made, or wait to be
	mostAtOnce   = 2           // that are made
	mostCached   = 64 << 20    // bytes of lists
	longestMade  = 10 * time.Minute
	bytesOfEntry = 256
)

// flightKey names what is made: the list of a group, or with a key its count, from tables of one version.
type flightKey struct {
	rule    string
	group   rule.Group
	version string // of all tables together
	keyed   bool
	key     string
}

// made is a list, or a count in Sum.
type made struct {
	list  *List
	bytes int64
	used  uint64
}

// flights make each thing once, however many ask for it, and keep what was made until there is no room.
type flights struct {
	ctx      context.Context
	work     sync.WaitGroup
	slots    chan struct{}
	patience time.Duration // of a reader

	mu    sync.Mutex
	calls map[flightKey]chan struct{} // closed when it is over
	cache map[flightKey]*made
	bytes int64
	clock uint64
}

func (f *flights) init() {
	f.ctx, f.patience = context.Background(), patience
	f.slots = make(chan struct{}, mostAtOnce)
	f.calls, f.cache = map[flightKey]chan struct{}{}, map[flightKey]*made{}
}

// get what build makes, nil where it is not there within patience; it is made all the same.
func (f *flights) get(ctx context.Context, key flightKey, build func(context.Context) (*List, error)) *List {
	f.mu.Lock()
	if l := f.known(key); l != nil {
		f.mu.Unlock()
		return l
	}
	done := f.calls[key]
	if done == nil {
		if len(f.calls) >= mostFlights || f.ctx.Err() != nil {
			f.mu.Unlock()
			return nil
		}
		done = make(chan struct{})
		f.calls[key] = done
		f.work.Go(func() { f.make(key, done, build) })
	}
	f.mu.Unlock()
	patient := time.NewTimer(f.patience)
	defer patient.Stop()
	select {
	case <-done:
	case <-patient.C:
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.known(key)
}

// known is what was made; nil: it was not, or is not kept.
func (f *flights) known(key flightKey) *List {
	m := f.cache[key]
	if m == nil {
		return nil
	}
	f.clock++
	m.used = f.clock
	return m.list
}

func (f *flights) make(key flightKey, done chan struct{}, build func(context.Context) (*List, error)) {
	defer close(done)
	ctx, cancel := context.WithTimeout(f.ctx, longestMade)
	defer cancel()
	var l *List
	var err error
	select {
	case f.slots <- struct{}{}:
		l, err = build(ctx)
		<-f.slots
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.calls, key)
	if err == nil && l != nil {
		f.keep(key, l)
	}
}

// keep l, and let go of what was not asked for the longest.
func (f *flights) keep(key flightKey, l *List) {
	size := int64(bytesOfEntry + len(key.key) + len(key.group.Name))
	for i := range l.Rows {
		size += int64(bytesOfEntry/2 + len(l.Rows[i].Key))
	}
	for len(f.cache) > 0 && f.bytes+size > mostCached {
		var oldest flightKey
		var found *made
		for k, m := range f.cache {
			if found == nil || m.used < found.used {
				oldest, found = k, m
			}
		}
		f.bytes -= found.bytes
		delete(f.cache, oldest)
	}
	f.clock++
	f.cache[key] = &made{l, size, f.clock}
	f.bytes += size
}
