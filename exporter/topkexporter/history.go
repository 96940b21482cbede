package topkexporter

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
)

const (
	oneHour = window.Minute(window.OneHour)

	// setBack is how far a clock may jump and come back without a loss.
	setBack = time.Hour

	// mostRollups bounds the index: about 80 bytes of memory each, those of the storage's own index included.
	mostRollups = 1_000_000
)

// history keeps roll-ups: their values in storage, an index in memory. It changes under the lock of the store, but for what is
// found damaged.
type history struct {
	storage *storage
	keep    time.Duration
	most    int64 // bytes
	mostNew int64 // bytes that are not durable
	merges  chan struct{}
	cache   spanCache

	mu        sync.RWMutex
	rules     map[string]*pastRule
	bytes     int64
	rollups   int
	removed   int64         // roll-ups given up before keep has passed
	clock     uint64        // counts changes
	floor     window.Minute // hours before it were given up for want of room
	unwritten int64         // bytes that are not durable yet
	pending   []*hour       // that hold them
}

func newHistory(storage *storage, keep time.Duration, most int64) *history {
	return &history{
		storage: storage, keep: keep, most: most, mostNew: historyInMemory, rules: map[string]*pastRule{},
		merges: make(chan struct{}, mostMerges), cache: spanCache{most: mostCachedSpans},
	}
}

// pastRule is all that is kept under one name: definitions that differ are kept apart.
type pastRule struct {
	eras      []*era
	newest    window.Minute // hour
	received  time.Time     // when the newest hour first came
	removed   uint64        // when hours were last removed
	removedTo window.Minute // the newest of all that were removed
}

// age of an hour. The clock of a rule runs with ours, from its newest hour on: so history that is replayed is kept as long as
// what is counted now.
func (r *pastRule) age(start window.Minute, now time.Time) time.Duration {
	return time.Duration(r.newest-start)*window.Bucket + max(0, now.Sub(r.received))
}

// take keeps what is new, forgets what was kept long enough or has no room, and stages the writes that this takes.
func (h *history) take(rollups []*wire.Rollup, now time.Time, t *tally) {
	values := make([][]byte, len(rollups))
	h.mu.Lock()
	for i, r := range rollups {
		if h.wants(r, now, t) {
			values[i] = []byte{}
		}
	}
	h.mu.Unlock()
	for i, r := range rollups {
		if values[i] != nil {
			if body, err := wire.EncodeRollup(r); err == nil { // it was decoded, so it is fit to be encoded
				values[i] = compress(body)
			}
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	changed := map[*hour]*era{}
	for i, r := range rollups {
		if len(values[i]) == 0 {
			continue
		}
		e := h.era(r)
		if e.knows(r) { // from this very request
			t.stale++
			continue
		}
		changed[h.put(e, r, values[i], now)] = e
		t.taken++
	}
	for at, e := range changed {
		h.index(e, at)
	}
	h.expire(now)
	h.makeRoom()
	h.storage.apply()
}

// wants says whether r is to be kept, and counts it if not.
func (h *history) wants(r *wire.Rollup, now time.Time, t *tally) bool {
	past := h.rules[r.Rule.Name]
	switch {
	case (r.Hour + oneHour).Start() > now.Add(setBack).UnixNano():
		t.ahead++
		return false
	case r.Hour < h.floor:
		t.overLimit++
		return false
	case past == nil:
		return true
	case past.age(r.Hour, now) >= h.keep:
		t.stale++
		return false
	}
	if e := past.era(r.Rule); e != nil && e.knows(r) {
		t.stale++
		return false
	}
	return true
}

// era finds or adds the era of a roll-up.
func (h *history) era(r *wire.Rollup) *era {
	past := h.rules[r.Rule.Name]
	if past == nil {
		past = &pastRule{newest: -1}
		h.rules[r.Rule.Name] = past
	}
	e := past.era(r.Rule)
	if e == nil {
		e = newEra(r.Rule)
		past.eras = append(past.eras, e)
	}
	return e
}

// era of a definition, nil if there is none.
func (r *pastRule) era(d *rule.Definition) *era {
	for _, e := range r.eras {
		if e.definition == d {
			return e
		}
	}
	fingerprint := d.Fingerprint()
	for _, e := range r.eras {
		if e.fingerprint == fingerprint {
			return e
		}
	}
	return nil
}

// put replaces what is known of one group in one hour.
func (h *history) put(e *era, r *wire.Rollup, value []byte, now time.Time) *hour {
	past := h.rules[r.Rule.Name]
	at := e.hour(r.Hour, now)
	if r.Hour > past.newest {
		past.newest, past.received = r.Hour, now
	}
	if at == e.last() {
		e.definition = r.Rule
	}
	before := len(at.entries)
	slot, grown := at.put(e, r, len(value))
	h.rollups += len(at.entries) - before
	h.change(at)
	h.grow(at, grown)
	at.unwritten += int64(len(value))
	if h.unwritten += int64(len(value)); !slices.Contains(h.pending, at) {
		h.pending = append(h.pending, at)
	}
	h.storage.set(e.rollupKey(at.start, slot), value)
	return at
}

// index stages the value that says what at holds.
func (h *history) index(e *era, at *hour) {
	value := at.encode(e)
	h.grow(at, int64(len(value))-at.indexBytes)
	at.indexBytes = int64(len(value))
	h.storage.set(e.hourKey(at.start), value)
}

func (h *history) grow(at *hour, bytes int64) {
	at.bytes += bytes
	h.bytes += bytes
}

func (h *history) change(at *hour) {
	h.clock++
	at.changed = h.clock
}

// expire forgets hours that were kept long enough.
func (h *history) expire(now time.Time) {
	for name, past := range h.rules {
		for _, e := range slices.Clone(past.eras) {
			for len(e.hours) > 0 && past.age(e.hours[0].start, now) >= h.keep+setBack {
				h.remove(name, e, e.hours[0])
			}
		}
	}
}

// makeRoom gives up the oldest hours, of all rules, until the rest has room.
func (h *history) makeRoom() {
	for len(h.rules) > 0 && (h.bytes > h.most || h.rollups > mostRollups) {
		oldest := window.Minute(-1)
		for _, past := range h.rules {
			for _, e := range past.eras {
				if first := e.hours[0].start; oldest < 0 || first < oldest {
					oldest = first
				}
			}
		}
		h.giveUp(func(at *hour) bool { return at.start == oldest })
		h.floor = oldest + oneHour
	}
}

func (h *history) giveUp(doomed func(*hour) bool) {
	for name, past := range h.rules {
		for _, e := range slices.Clone(past.eras) {
			for _, at := range slices.Clone(e.hours) {
				if doomed(at) {
					h.removed += int64(len(at.entries))
					h.remove(name, e, at)
				}
			}
		}
	}
}

// remove one hour of an era, and the era and the rule with their last.
func (h *history) remove(name string, e *era, at *hour) {
	for i := range at.entries {
		h.storage.remove(e.rollupKey(at.start, at.entries[i].slot))
		e.groups.release(at.entries[i].group)
	}
	h.storage.remove(e.hourKey(at.start))
	h.rollups -= len(at.entries)
	h.bytes -= at.bytes
	h.unwritten -= at.unwritten
	at.unwritten = 0
	past := h.rules[name]
	h.clock++
	past.removed, past.removedTo = h.clock, max(past.removedTo, at.start)
	e.hours = slices.DeleteFunc(e.hours, func(o *hour) bool { return o == at })
	if len(e.hours) > 0 {
		return
	}
	past.eras = slices.DeleteFunc(past.eras, func(o *era) bool { return o == e })
	if len(past.eras) == 0 {
		delete(h.rules, name)
	}
}

// committed notes whether all is durable. What is not takes memory: beyond a bound its oldest hours are given up.
func (h *history) committed(durable bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pending = slices.DeleteFunc(h.pending, func(at *hour) bool { return at.unwritten == 0 })
	if !durable && h.unwritten > h.mostNew {
		slices.SortFunc(h.pending, func(a, b *hour) int { return cmp.Compare(a.start, b.start) })
		for _, oldest := range h.pending {
			if h.unwritten > h.mostNew {
				h.giveUp(func(at *hour) bool { return at == oldest })
			}
		}
		h.storage.apply()
	}
	if durable {
		for _, at := range h.pending {
			at.unwritten = 0
		}
		h.unwritten, h.pending = 0, nil
	}
}

// lose takes out what was found damaged, and says whether it was there.
func (h *history) lose(name string, e *era, start window.Minute, g rule.Group, asOf int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	past := h.rules[name]
	if past == nil || !slices.Contains(past.eras, e) {
		return false
	}
	at := e.at(start)
	if at == nil {
		return false
	}
	known := at.find(e, g)
	if known == nil || known.asOf != asOf {
		return false
	}
	h.rollups--
	h.grow(at, -int64(known.size)-entryBytes)
	at.take(e, known)
	h.change(at)
	return true
}

// historySize is how much is kept, and how many roll-ups were given up before keep has passed.
type historySize struct{ bytes, rollups, removed int64 }

func (h *history) size() historySize {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return historySize{h.bytes, int64(h.rollups), h.removed}
}
