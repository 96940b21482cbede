package board

import "github.com/otel-topk/collector/internal/rule"

// Room is memory that is set aside when a definition or a group is admitted: for the merged summaries that are kept of each of
// its windows, at their full size. So nothing that is admitted can make the board grow past Config.MaxListBytes.

const (
	registerBytes = 4096 // of a tail
	slotBytes     = 42   // of a table, of which at most five in eight are full
	keyBytes      = 64   // of a resident; longer keys are rare
	sumsOfWindow  = 2    // closed.sum and closed.rest
)

// listRoom is that of one group.
func (b *Board) listRoom(d *rule.Definition, residents int) int64 {
	slots := 16
	for residents*8 > slots*5 {
		slots *= 2
	}
	sum := 4*d.Shape.Width*d.Shape.Depth + registerBytes + slots*slotBytes + residents*keyBytes
	return int64(len(b.windows) * sumsOfWindow * sum)
}

// ruleRoom is that of the groups that a definition always has: the global one, missing and overflow.
func (b *Board) ruleRoom(d *rule.Definition) int64 {
	n := b.listRoom(d, residents(d, global))
	if d.Grouped() {
		n += 2 * b.listRoom(d, residents(d, overflow))
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
