package topkexporter

import (
	"slices"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
)

// hour says which roll-ups of an era are kept of one hour.
type hour struct {
	start      window.Minute
	received   time.Time // when it first came
	reasons    []string  // why records may be missing, as its newest roll-ups say
	reasonedAt int64     // their AsOf
	entries    []entry
	parts      uint64 // weight of all groups together, modulo 2^64
	next       uint32 // slot
	indexBytes int64
	bytes      int64  // in storage
	unwritten  int64  // of them, not durable yet
	changed    uint64 // by the clock of history
}

// entry is a roll-up that is kept.
type entry struct {
	group uint32 // its number in the era
	slot  uint32 // in its key
	size  uint32 // bytes of its value
	total uint64
	hash  uint64 // of the encoded summary
	asOf  int64  // Unix nanoseconds
}

// entryBytes is what an entry counts beside its value, for the keys and indexes that it needs.
const entryBytes = 128

// find the entry of g, nil if there is none.
func (at *hour) find(e *era, g rule.Group) *entry {
	number, known := e.groups.numbers[g]
	if !known {
		return nil
	}
	for i := range at.entries {
		if at.entries[i].group == number {
			return &at.entries[i]
		}
	}
	return nil
}

// put notes the newest roll-up of a group, and returns the slot of its value and by how many bytes the hour grows.
func (at *hour) put(e *era, r *wire.Rollup, size int) (slot uint32, grown int64) {
	known := at.find(e, r.Group)
	if known == nil {
		at.entries = append(at.entries, entry{group: e.groups.use(r.Group), slot: at.next})
		at.next++
		known, grown = &at.entries[len(at.entries)-1], entryBytes
	}
	grown += int64(size) - int64(known.size)
	if r.Group.Scope != rule.ScopeGlobal {
		at.parts += r.Summary.Total() - known.total
	}
	known.size, known.total, known.hash, known.asOf = uint32(size), r.Summary.Total(), xxh3.Hash(r.Encoded), r.AsOf.UnixNano()
	at.reason(r)
	return known.slot, grown
}

// take out an entry.
func (at *hour) take(e *era, known *entry) {
	if e.groups.groups[known.group].Scope != rule.ScopeGlobal {
		at.parts -= known.total
	}
	e.groups.release(known.group)
	i := slices.IndexFunc(at.entries, func(o entry) bool { return o.slot == known.slot })
	at.entries = slices.Delete(at.entries, i, i+1)
}

// reason takes over why records may be missing: roll-ups that were made together say it together. That of overflow depends on
// the group, and shows in the summary.
func (at *hour) reason(r *wire.Rollup) {
	asOf := r.AsOf.UnixNano()
	if asOf > at.reasonedAt {
		at.reasons, at.reasonedAt = nil, asOf
	}
	if asOf < at.reasonedAt {
		return
	}
	for _, reason := range r.PartialReasons {
		if reason != reasonOverflow && !slices.Contains(at.reasons, reason) && len(at.reasons) < wire.MaxReasons {
			at.reasons = append(at.reasons, reason)
		}
	}
}

// says is whether these are the reasons that are known.
func (at *hour) says(reasons []string) bool {
	n := 0
	for _, reason := range reasons {
		if reason == reasonOverflow {
			continue
		}
		if n++; !slices.Contains(at.reasons, reason) {
			return false
		}
	}
	return n == len(at.reasons)
}

// whole says whether the groups of the hour add up to the global list, so that a group without an entry has no record in it.
func (at *hour) whole(e *era) bool {
	all := at.find(e, rule.Group{})
	return all != nil && (all.total == at.parts || !e.definition.Grouped())
}
