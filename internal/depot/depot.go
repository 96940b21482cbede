package depot

import (
	"context"
	"errors"
	"sync"

	"github.com/zeebo/xxh3"
	"go.opentelemetry.io/collector/extension/xextension/storage"
)

// Depot is a storage client with buffered writes. What is set or deleted is seen by Get at once, and is durable once a Commit
// that began later returns nil. Safe for concurrent use.
//
// In memory it holds what is buffered, and some 20 bytes for each key that is stored. While commits fail, the buffer holds the
// last write of each key, and each Commit tries all of it: it is for the caller to bound what it sets and how often it tries.
type Depot struct {
	client   storage.Client
	lead     chan struct{} // held by who uses client
	broken   error         // by a panic of client; guarded by lead
	visiting bool          // guarded by lead

	mu      sync.Mutex
	buffer  map[string]*write   // to be written
	flight  map[string]*write   // being written
	group   *group              // who waits for buffer; nil: nobody
	stored  map[uint64]struct{} // hashes of the keys that are stored; nil, before Walk: any may be
	aside   map[string]int      // sizes of what is set aside
	damaged uint64
}

type write struct {
	storage.Operation
	forgotten bool
}

// value is nil if w deletes.
func (w *write) value() []byte {
	if w.Type == storage.Delete {
		return nil
	}
	return w.Value[sealBytes:]
}

// New makes a depot of a client, which Close closes.
func New(client storage.Client) *Depot {
	return &Depot{client: client, lead: make(chan struct{}, 1), buffer: map[string]*write{}, aside: map[string]int{}}
}

// Set value under key. The depot keeps no reference to value. After an error, which is of a key or a value outside of the limits,
// all is as before.
func (d *Depot) Set(key string, value []byte) error {
	if err := check(key, value); err != nil {
		return err
	}
	sealed := seal(key, value)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.put(key, sealed)
	return nil
}

func (d *Depot) put(key string, sealed []byte) {
	d.buffer[key] = &write{Operation: *storage.SetOperation(key, sealed)}
}

// Delete what is stored under key.
func (d *Depot) Delete(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drop(key)
}

// drop leaves nothing in the buffer for a key that was never written: while commits fail, keys come and go.
func (d *Depot) drop(key string) {
	if d.flight[key] == nil && d.lacks(key) {
		delete(d.buffer, key)
		return
	}
	d.buffer[key] = &write{Operation: *storage.DeleteOperation(key)}
}

// lacks is true if nothing is stored under key for sure.
func (d *Depot) lacks(key string) bool {
	_, ok := d.stored[xxh3.HashString(key)]
	return d.stored != nil && !ok
}

// Forget a write to key that no Commit has made durable, for a value that is of no use later. What was stored before stays. A
// write that is under way may still become durable, and is not tried again.
func (d *Depot) Forget(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.buffer, key)
	if w := d.flight[key]; w != nil {
		w.forgotten = true
	}
}

// Close commits and closes the client, also if ctx has ended or the commit fails.
func (d *Depot) Close(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	err := d.Commit(ctx)
	d.lead <- struct{}{}
	defer func() { <-d.lead }()
	return errors.Join(err, d.use(func() error { return d.client.Close(ctx) }))
}
