package topkprocessor

import (
	"context"
	"time"

	"github.com/otel-topk/collector/internal/uplink"
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
		c.pending.Expire(now.UnixNano())
		size := c.merger.collect()
		for _, g := range c.senders {
			g.Emitted()
		}
		for _, l := range c.ledgers {
			l.watch.check(l, now, c.logger)
		}
		timer.Reset(uplink.Pace(c.cfg.EmitInterval, size))
	}
}

// expiry of a final state: in event time a bucket's end says nothing about when it was counted.
func (c *counter) expiry(b *bucket, now int64) int64 {
	if c.cfg.Clock == clockEvent {
		return now + int64(c.cfg.Retain)
	}
	return b.end + int64(c.cfg.Retain)
}
