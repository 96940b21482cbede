package depot

import (
	"context"
	"errors"
	"sync/atomic"

	"go.opentelemetry.io/collector/extension/xextension/storage"
)

var errFull = errors.New("the disk is full")

// client is one whose writes fail on demand. It counts, and stops in each Batch until it is let go.
type client struct {
	storage.Client
	full    atomic.Bool
	every   int64         // 0: none; else of so many writes the last fails
	batches atomic.Int64  // that write
	asked   atomic.Int64  // keys that were read
	hold    chan struct{} // nil: it does not stop; else each Batch takes one
}

func (c *client) Batch(ctx context.Context, ops ...*storage.Operation) error {
	if ops[0].Type == storage.Get {
		c.asked.Add(int64(len(ops)))
		err := c.Client.Batch(ctx, ops...)
		if c.hold != nil {
			<-c.hold
		}
		return err
	}
	if c.hold != nil {
		<-c.hold
	}
	if n := c.batches.Add(1); c.full.Load() || c.every > 0 && n%c.every == 0 {
		return errFull
	}
	return c.Client.Batch(ctx, ops...)
}

func (c *client) Walk(ctx context.Context, fn storage.WalkFunc) error {
	return c.Client.(storage.Walker).Walk(ctx, fn)
}

// failing puts a client before that of d.
func failing(d *Depot) *client {
	c := &client{Client: d.client}
	d.client = c
	return c
}
