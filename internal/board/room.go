package board

import (
	"time"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
)

// Room is memory that is set aside when a definition or a group is admitted: for the merged summaries that are kept of each of
// its windows and for the lists that are published at one time, at their full size. So nothing that is admitted can make the
// board grow past Config.MaxListBytes.

const (
	registerBytes = 4096 // of a tail
	cellBytes     = 8    // of a tail of weights beyond 32 bits
	slotBytes     = 42   // of a table, of which at most five in eight are full
	keyBytes      = 64   // of a resident; the longest list has room for longer ones
	itemBytes     = 96   // of a list, beside its key
	groupBytes    = 1024 // beside its name and its sums
)

// slotsFor is how many slots a table of residents has.
func slotsFor(residents int) int {
	slots := 16
	for residents*8 > slots*5 {
		slots *= 2
	}
	return slots
}

// keyRoom is how long the keys of a merged summary may be together.
func keyRoom(d *rule.Definition, residents int) int {
	return max(residents*keyBytes, d.K*d.MaxKeyBytes)
}

// sumRoom is that of a merged summary: while it is merged, it may hold twice its residents.
func sumRoom(d *rule.Definition, residents int) int {
	return d.Shape.Width*d.Shape.Depth*cellBytes + registerBytes + slotsFor(2*residents)*slotBytes + 2*keyRoom(d, residents)
}

// listRoom is that of one group with so many residents.
func (b *Board) listRoom(d *rule.Definition, residents int, summaries bool) int64 {
	list := d.K * (itemBytes + d.MaxKeyBytes)
	if summaries {
		list += sumRoom(d, summaryResidents)
	}
	sums := 0
	for _, w := range b.windows {
		sums++
		if b.restOf(w) > 0 {
			sums++
		}
	}
	return int64(len(b.windows)*list + sums*sumRoom(d, residents) + 2*d.MaxKeyBytes + groupBytes)
}

// restOf is the size of the parts at whose edge the part of a window begins that is kept when its start moves; 0: it is not worth it.
func (b *Board) restOf(w time.Duration) window.Size {
	size := window.FiveMinutes
	if w > b.keep.Minutes {
		size = window.OneHour
	}
	if w < 4*time.Duration(size)*window.Bucket {
		return 0
	}
	return size
}

// groupRoom is that of a group with a name.
func (b *Board) groupRoom(d *rule.Definition) int64 {
	return b.listRoom(d, residents(d, overflow), b.cfg.PointQueries == PointQueriesAll)
}

// ruleRoom is that of the groups that a definition always has: the global one, missing and overflow.
func (b *Board) ruleRoom(d *rule.Definition) int64 {
	n := b.listRoom(d, residents(d, global), b.cfg.PointQueries != PointQueriesOff)
	if d.Grouped() {
		n += 2 * b.groupRoom(d)
	}
	return n
}

// take sets n bytes aside, if there is room.
func (b *Board) take(n int64) bool {
	if b.stats.ListBytes+n > b.cfg.MaxListBytes {
		return false
	}
	b.stats.ListBytes += n
	return true
}
