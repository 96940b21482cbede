package topkprocessor

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/otel-topk/collector/internal/depot"
	"github.com/otel-topk/collector/internal/uplink"
	"github.com/otel-topk/collector/internal/wire"
)

const (
	checkpointVersion = 1

	checkpointEvery = 30 * time.Second
	checkpointRetry = 5 * time.Second // after a write that failed
	commitEvery     = time.Second     // whoever waits for it
)

// checkpoint that is stored.
type checkpoint struct {
	number   uint64
	sequence uint64 // entries up to this one are in it
	parts    int
}

// cut is all that was counted up to one moment.
type cut struct {
	sequence uint64
	failures uint64 // so far
	resumed  bool   // what was counted before it is not in the journal
	run      *run
	states   []wire.State
	finals   []*uplink.Final // that are not stored
}

// keepUp commits what is set and makes checkpoints, until ctx ends.
func (v *vault) keepUp(ctx context.Context) {
	if v == nil || v.depot == nil {
		return
	}
	ticker := time.NewTicker(commitEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-v.full:
		case <-ticker.C:
		}
		if v.due(time.Now()) {
			v.checkpoint()
		} else {
			v.deleteOld(deleteMost)
			v.commit()
		}
	}
}

func (v *vault) due(now time.Time) bool {
	v.one.Lock()
	defer v.one.Unlock()
	since, size := now.Sub(v.tried), v.size.Load()
	if !v.recording.Load() {
		return since >= checkpointRetry
	}
	return size >= maxJournal || size > 0 && since >= checkpointEvery
}

// checkpoint stores all that is open, and what could not be stored before.
func (v *vault) checkpoint() {
	v.one.Lock()
	defer v.one.Unlock()
	v.tried = time.Now()
	c := v.cut()
	err := v.store(c)
	if err == nil {
		v.hold(c.failures)
		return
	}
	v.fail(err)
	if c.resumed {
		v.discard(c.sequence)
	}
}

// discard the entries after a cut that was to fill a gap in the journal and was not stored: else each try would add some.
func (v *vault) discard(sequence uint64) {
	v.gate.Lock()
	last := v.sequence.Load()
	v.gate.Unlock()
	for n := sequence + 1; n <= last; n++ {
		v.depot.Delete(numbered(journalKey, n))
	}
}

// cut holds up who counts, for as long as it takes to encode what changed in the moment since all was encoded. What is counted
// after it is recorded.
func (v *vault) cut() *cut {
	v.counter.merger.prepare()
	v.gate.Lock()
	defer v.gate.Unlock()
	return v.counter.merger.cut(func(c *cut) {
		c.sequence = v.sequence.Add(1)
		c.failures = v.failures.Load()
		c.run = v.counter.run()
		c.finals = v.counter.pending.Unstored()
		v.size.Store(0)
		c.resumed = !v.recording.Swap(true)
	})
}

// store a cut as the next checkpoint: its states, and last its head, by which it is one.
func (v *vault) store(c *cut) error {
	if err := v.storeFinals(c.finals); err != nil {
		return err
	}
	n := v.number + 1
	parts, err := v.storeStates(n, c)
	v.spoilt = max(v.spoilt, parts)
	if err == nil {
		err = v.storeHead(n, parts, c)
	}
	if err != nil {
		for i := range parts + 1 {
			v.depot.Forget(partKey(n, i))
		}
		return err
	}
	v.number = n
	v.kept = append(v.kept, checkpoint{number: n, sequence: c.sequence, parts: v.spoilt})
	v.spoilt, v.relics = 0, nil
	if len(v.kept) > 2 {
		for i := range v.kept[0].parts + 1 {
			v.depot.Delete(partKey(v.kept[0].number, i))
		}
		v.kept = v.kept[1:]
	}
	v.old.Lock()
	defer v.old.Unlock()
	v.needed = v.kept[0].sequence + 1
	return nil
}

// storeStates in parts, and say how many they are.
func (v *vault) storeStates(n uint64, c *cut) (int, error) {
	w := partWriter{vault: v, number: n, sequence: c.sequence}
	for i := range c.states {
		if err := w.add(&c.states[i]); err != nil {
			return w.parts, err
		}
	}
	return w.parts, w.put()
}

// storeHead makes the parts a checkpoint. With the first one of this process the one before has left nothing more.
func (v *vault) storeHead(n uint64, parts int, c *cut) error {
	head := binary.LittleEndian.AppendUint64([]byte{checkpointVersion}, c.sequence)
	head = binary.AppendUvarint(head, uint64(parts))
	head, err := c.run.append(head)
	if err != nil {
		return err
	}
	var change depot.Change
	for _, key := range v.relics {
		change.Delete(key)
	}
	if err := change.Set(partKey(n, 0), head); err != nil {
		return err
	}
	v.depot.Apply(&change)
	if err := v.depot.Commit(context.Background()); err != nil {
		for _, key := range v.relics {
			v.depot.Forget(key) // before the head: it takes their place
		}
		return err
	}
	return nil
}
