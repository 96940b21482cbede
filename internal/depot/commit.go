package depot

import (
	"context"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"
	"go.opentelemetry.io/collector/extension/xextension/storage"
)

// group of commits that are written together.
type group struct {
	done chan struct{}
	err  error // once done
}

// Commit returns when all that was set and deleted before is durable. Commits that come while another one writes are written
// together. After an error, what was to be written is kept for the next Commit. A Commit whose ctx ends while it waits for
// others returns; its writes go on with theirs.
func (d *Depot) Commit(ctx context.Context) error {
	d.mu.Lock()
	if len(d.buffer) == 0 && d.flight == nil {
		d.mu.Unlock()
		return nil
	}
	if d.group == nil {
		d.group = &group{done: make(chan struct{})}
	}
	g := d.group
	d.mu.Unlock()
	select {
	case <-g.done:
	case <-ctx.Done():
		return ctx.Err()
	case d.lead <- struct{}{}:
		defer func() { <-d.lead }()
		select {
		case <-g.done: // by who led before
		default:
			d.write(context.WithoutCancel(ctx))
		}
	}
	return g.err
}

// write what is buffered, for all who wait. Called by who leads, of the group that waits: while it is not done, it is d.group.
func (d *Depot) write(ctx context.Context) {
	d.mu.Lock()
	g := d.group
	d.flight, d.buffer, d.group = d.buffer, map[string]*write{}, nil
	ops := make([]*storage.Operation, 0, len(d.flight))
	for _, w := range d.flight {
		ops = append(ops, &w.Operation)
	}
	d.mu.Unlock()
	// bbolt splits a page only when it commits: in any other order each of many new keys moves those behind it.
	slices.SortFunc(ops, func(a, b *storage.Operation) int { return strings.Compare(a.Key, b.Key) })
	if len(ops) > 0 {
		g.err = d.use(func() error { return d.client.Batch(ctx, ops...) })
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.land(g.err == nil)
	close(g.done)
}

// land what was in flight: it is stored, or comes back to the buffer if nothing newer is there.
func (d *Depot) land(ok bool) {
	for key, w := range d.flight {
		switch {
		case !ok:
			if d.buffer[key] == nil && !w.forgotten {
				d.buffer[key] = w
			}
		case d.stored == nil:
		case w.Type == storage.Set:
			d.stored[xxh3.HashString(key)] = struct{}{}
		default:
			delete(d.stored, xxh3.HashString(key))
		}
	}
	d.flight = nil
}
