package depot

import (
	"context"
	"errors"
	"strings"

	"github.com/zeebo/xxh3"
	"go.opentelemetry.io/collector/extension/xextension/storage"
)

// Value is one that is stored.
type Value struct {
	Key    string
	Size   int // in storage, bytes
	sealed []byte
	broken *bool
}

// Open returns what was set; ok is false for a damaged value, which is set aside. It shares memory with the storage: it is not
// to be changed, and good until the visit ends.
func (v Value) Open() (value []byte, ok bool) {
	err := survive(func() (err error) {
		value, err = open(v.Key, v.sealed)
		return err
	})
	*v.broken = err != nil
	return value, err == nil
}

// Walk visits every value that is stored, in no order, but for those that were set aside. It is for the start: what is only
// buffered is not visited, and visit may not call Get, Commit or Walk.
func (d *Depot) Walk(ctx context.Context, visit func(Value)) error {
	walker, ok := d.client.(storage.Walker)
	if !ok {
		return errors.New("depot: the storage cannot list what it holds")
	}
	select {
	case d.lead <- struct{}{}:
		defer func() { <-d.lead }()
	case <-ctx.Done():
		return ctx.Err()
	}
	stored := map[uint64]struct{}{}
	err := d.use(func() error {
		return walker.Walk(ctx, func(key string, sealed []byte) ([]*storage.Operation, error) {
			stored[xxh3.HashString(key)] = struct{}{}
			if strings.HasPrefix(key, asidePrefix) {
				d.meetAside(key, len(sealed))
				return nil, nil
			}
			broken := false
			d.visiting = true
			visit(Value{Key: key, Size: len(sealed), sealed: sealed, broken: &broken})
			d.visiting = false
			if broken {
				d.setAside(key, sealed)
			}
			return nil, nil
		})
	})
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stored = stored
	return nil
}
