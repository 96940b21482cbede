package depot

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"go.opentelemetry.io/collector/extension/xextension/storage"
)

// asidePrefix stands before the key of a value that was set aside because it is damaged.
const asidePrefix = "damaged/"

// Depot is a storage client with buffered writes. What is set or deleted is seen by Get at once and is durable once a Commit
// that began later returns nil. Safe for concurrent use.
type Depot struct {
	client storage.Client
	lead   chan struct{} // held by who writes

	mu      sync.Mutex
	buffer  map[string]*storage.Operation // to be written
	flight  map[string]*storage.Operation // being written
	group   *group                        // who waits for buffer; nil: nobody
	damaged uint64
}

// group of commits that are written together.
type group struct {
	done chan struct{}
	err  error
}

// New makes a depot of a client, which Close closes.
func New(client storage.Client) *Depot {
	return &Depot{client: client, lead: make(chan struct{}, 1), buffer: map[string]*storage.Operation{}}
}

// Set value under key. The depot keeps no reference to value.
func (d *Depot) Set(key string, value []byte) {
	sealed := seal(make([]byte, 0, sealBytes+len(value)), key, value)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.buffer[key] = storage.SetOperation(key, sealed)
}

// Delete what is stored under key.
func (d *Depot) Delete(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.buffer[key] = storage.DeleteOperation(key)
}

// Forget a write to key that no Commit has made durable: for a value that is of no use later.
func (d *Depot) Forget(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.buffer, key)
}

// Get the value under key, nil if there is none. The error is ErrDamaged for a value that is not as it was written, which is
// set aside, and what the client says otherwise.
func (d *Depot) Get(ctx context.Context, key string) ([]byte, error) {
	d.mu.Lock()
	op := d.buffer[key]
	if op == nil {
		op = d.flight[key]
	}
	d.mu.Unlock()
	var sealed []byte
	if op != nil {
		sealed = op.Value
	} else {
		var err error
		if sealed, err = d.client.Get(ctx, key); err != nil {
			return nil, err
		}
	}
	if sealed == nil {
		return nil, nil
	}
	value, err := open(key, sealed)
	if err != nil {
		d.setAside(key, sealed)
	}
	return value, err
}

// Commit returns when all that was set and deleted before is durable. Commits that come while another one writes are written
// together. After an error what it was to write is kept for the next Commit.
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
		return g.err
	case <-ctx.Done():
		return ctx.Err()
	case d.lead <- struct{}{}:
		defer func() { <-d.lead }()
	}
	select {
	case <-g.done:
		return g.err
	default:
	}
	d.write(ctx, g)
	return g.err
}

// write what is buffered for g. Called by who leads.
func (d *Depot) write(ctx context.Context, g *group) {
	d.mu.Lock()
	d.flight, d.buffer, d.group = d.buffer, map[string]*storage.Operation{}, nil
	ops := slices.Collect(maps.Values(d.flight))
	d.mu.Unlock()
	if len(ops) > 0 {
		g.err = d.client.Batch(context.WithoutCancel(ctx), ops...)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if g.err != nil {
		for key, op := range d.flight {
			if d.buffer[key] == nil {
				d.buffer[key] = op
			}
		}
	}
	d.flight = nil
	close(g.done)
}

// Value is one that is stored.
type Value struct {
	Key    string
	Size   int // in storage
	depot  *Depot
	sealed []byte
	broken *bool
}

// Open returns what was set; ok is false for a damaged value, which is set aside. It shares memory with the storage, and is
// good until the visit ends.
func (v Value) Open() (value []byte, ok bool) {
	value, err := open(v.Key, v.sealed)
	*v.broken = err != nil
	return value, err == nil
}

// Walk visits every value, in no order. Values that were set aside are not visited. Nothing may be written while it walks.
func (d *Depot) Walk(ctx context.Context, visit func(Value)) error {
	walker, ok := d.client.(storage.Walker)
	if !ok {
		return errors.New("storage: the extension cannot list what it holds, which is needed to start from it; file_storage can")
	}
	return walker.Walk(ctx, func(key string, sealed []byte) ([]*storage.Operation, error) {
		if isAside(key) {
			return nil, nil
		}
		broken := false
		visit(Value{Key: key, Size: len(sealed), depot: d, sealed: sealed, broken: &broken})
		if !broken {
			return nil, nil
		}
		d.mu.Lock()
		d.damaged++
		d.mu.Unlock()
		return []*storage.Operation{storage.SetOperation(asidePrefix+key, slices.Clone(sealed)), storage.DeleteOperation(key)}, nil
	})
}

func isAside(key string) bool { return len(key) > len(asidePrefix) && key[:len(asidePrefix)] == asidePrefix }

func (d *Depot) setAside(key string, sealed []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.damaged++
	d.buffer[asidePrefix+key] = storage.SetOperation(asidePrefix+key, sealed)
	d.buffer[key] = storage.DeleteOperation(key)
}

// Damaged is how many values were set aside since New.
func (d *Depot) Damaged() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.damaged
}

// Close commits and closes the client.
func (d *Depot) Close(ctx context.Context) error {
	return errors.Join(d.Commit(ctx), d.client.Close(ctx))
}
