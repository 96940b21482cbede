package topkprocessor

import (
	"time"

	"github.com/otel-topk/collector/internal/uplink"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

// residentBytes of a summary's table: 3.2 slots of 41 bytes where the table has just grown.
const residentBytes = 132

// memoryBound is the most live memory that counting and sending may take, with all groups and stripes in use and all keys as
// long as they may be.
func (c *counter) memoryBound() int64 {
	buckets := int64(c.openBuckets())
	if c.cfg.Clock == clockEvent {
		buckets *= 2 // those of one step more
	}
	sum, largest := int64(0), 0
	if c.vault != nil {
		sum += storageBound
	}
	sum += c.partition.memoryBound()
	for _, l := range c.ledgers {
		lists := int64(1)
		if l.definition.Grouped() {
			lists = int64(l.maxGroups) + 2
		}
		d := l.definition
		one := summaryBound(d.Residents, d.MaxKeyBytes, d.Shape)
		encoded := encodedBound(d.Residents, d.MaxKeyBytes, d.Shape)
		largest = max(largest, int(encoded))
		if c.vault != nil {
			encoded *= 2 // a checkpoint is written while states are encoded anew
		}
		sum += lists * buckets * (int64(len(c.stripes))*one + encoded)
		sum += one // where stripes are merged
	}
	return sum + uplink.MemoryBound(c.cfg.Pending, len(c.senders), min(largest, wire.MaxBodyBytes))
}

// storageBound is what writing takes beside: a part of a checkpoint, final states that are stored late, and entries, with what is
// made of each and with what the storage makes of it; and the keys of the journal.
const storageBound = 4 * (maxPart + finalsAtOnce + keptEntry*8)

// openBuckets is how many minutes of a rule may be open at a time.
func (c *counter) openBuckets() int {
	return int((c.cfg.Lateness+c.cfg.Future+window.Bucket-time.Nanosecond)/window.Bucket) + 2
}

// summaryBound is the most that one summary holds: its table, its keys, which grow by a part of themselves, its cells once
// they are 64 bits, its registers.
func summaryBound(residents, keyBytes int, shape topk.Shape) int64 {
	return int64(residents)*int64(residentBytes+keyBytes*3/2) + cells(shape)*8 + 4096 + 1024
}

// encodedBound is the most that a summary is when encoded.
func encodedBound(residents, keyBytes int, shape topk.Shape) int64 {
	return int64(residents)*int64(keyBytes+24) + cells(shape)*9 + 4096 + 1024
}

func cells(shape topk.Shape) int64 { return int64(shape.Width) * int64(shape.Depth) }
