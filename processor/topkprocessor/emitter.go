package topkprocessor

import (
	"context"
	"time"
)

const (
	maxStretch = 8 * time.Second // of the emit interval
	openRate   = 512 << 10       // bytes a second of open states, before compression, that stretch it
)

// emit closes buckets, encodes what changed and wakes the gateways, every emit_interval, until ctx ends.
func (c *counter) emit(ctx context.Context) {
	timer := time.NewTimer(c.cfg.EmitInterval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		now := c.now()
		c.merger.closeDue(c.ledgers, now.UnixNano())
		c.pending.expire(now.UnixNano())
		size := c.merger.collect()
		for _, g := range c.gateways {
			g.emitted.Add(1)
			g.wake()
		}
		for _, l := range c.ledgers {
			l.watch.check(l, now, c.logger)
		}
		timer.Reset(pace(c.cfg.EmitInterval, size))
	}
}

// pace is the time to the next emission after one of size bytes.
func pace(interval time.Duration, size int) time.Duration {
	stretched := time.Duration(size) * time.Second / openRate
	return max(interval, min(stretched, maxStretch))
}

// expiry of a final state: in event time a bucket's end says nothing about when it was counted.
func (c *counter) expiry(b *bucket, now int64) int64 {
	if c.cfg.Clock == clockEvent {
		return now + int64(c.cfg.Retain)
	}
	return b.end + int64(c.cfg.Retain)
}
