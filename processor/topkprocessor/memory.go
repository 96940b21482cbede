package topkprocessor

import (
	"time"

	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/topk"
)

// residentBytes of a summary's table: two slots of 40 bytes at a load of at least a half, and its tag.
const residentBytes = 2*40 + 2

// memoryBound is the most that counting may hold, all groups and stripes in use and all keys as long as they may be.
func (c *counter) memoryBound() int64 {
	buckets := int64((c.cfg.Lateness+c.cfg.Future+window.Bucket-time.Nanosecond)/window.Bucket) + 2
	var sum int64
	for _, l := range c.ledgers {
		lists := int64(1)
		if l.definition.Grouped() {
			lists = int64(l.maxGroups) + 2
		}
		one := summaryBound(l.definition.Residents, l.definition.MaxKeyBytes, l.definition.Shape)
		sum += lists * buckets * (int64(len(c.stripes)) + 1) * one // the encoded states are one stripe more
	}
	return sum + c.cfg.Pending
}

// summaryBound is the most that one summary holds: its table, its keys, its cells once they are 64 bits, its registers.
func summaryBound(residents, keyBytes int, shape topk.Shape) int64 {
	return int64(residents)*int64(residentBytes+keyBytes) + int64(shape.Width)*int64(shape.Depth)*8 + 4096
}
