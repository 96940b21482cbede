package topkprocessor

import (
	"context"

	"github.com/otel-topk/collector/internal/depot"
)

const (
	maxJournal    = 32 << 20 // bytes of entries after which a checkpoint shortens the journal
	entryOverhead = 512      // bytes that an entry takes beside its own
	keptEntry     = 1 << 20  // bytes of the largest entry whose memory is kept for the next one

	// Old entries are deleted many at a time, for that costs least.
	deleteEvery = 32 // entries
	deleteMost  = 64 // entries
)

// record what was found in a request in the journal. Where that fails the request counts in memory alone. Called with the gate
// held for reading.
func (v *vault) record(found *findings, now int64) {
	if !v.recording.Load() {
		return
	}
	e, ok := v.entries.Get().(*entry)
	if !ok {
		e = new(entry)
	}
	var keys []string
	var change depot.Change
	var err error
	put := func() {
		n := v.sequence.Add(1)
		keys = append(keys, numbered(journalKey, n))
		if err == nil {
			err = change.Set(keys[len(keys)-1], e.b)
		}
		v.size.Add(int64(len(e.b)) + entryOverhead)
		if n%deleteEvery == 0 {
			v.deleteOld(deleteMost)
		}
	}
	e.begin(v.counter.epoch, now)
	for i, l := range found.ledgers {
		b := &found.batches[i]
		for from := 0; from < len(b.Keys); {
			from = e.append(l.index, b, from, now)
			if e.full() {
				put()
				e.begin(v.counter.epoch, now)
			}
		}
	}
	if !e.empty() {
		put()
	}
	if cap(e.b) <= keptEntry {
		v.entries.Put(e)
	}
	if err == nil && len(keys) > 0 {
		v.depot.Apply(&change)
		err = v.depot.Commit(context.Background())
	}
	if err != nil {
		for _, key := range keys {
			v.depot.Forget(key)
		}
		v.fail(err)
	}
	if v.size.Load() >= maxJournal {
		v.shorten()
	}
}

// shorten the journal soon.
func (v *vault) shorten() {
	select {
	case v.full <- struct{}{}:
	default:
	}
}

// deleteOld entries, at most n.
func (v *vault) deleteOld(n uint64) {
	v.old.Lock()
	defer v.old.Unlock()
	for to := min(v.needed, v.oldest+n); v.oldest < to; v.oldest++ {
		v.depot.Delete(numbered(journalKey, v.oldest))
	}
}
