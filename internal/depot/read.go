package depot

import (
	"context"

	"go.opentelemetry.io/collector/extension/xextension/storage"
)

// Get the value under key, nil if there is none. It is not to be changed. The error is of a value that is not as it was written,
// which is set aside, or what the client says.
func (d *Depot) Get(ctx context.Context, key string) ([]byte, error) {
	if value, ok := d.known(key); ok {
		return value, nil
	}
	var value []byte
	var damaged error
	if err := d.read(ctx, []string{key}, func(_ int, v []byte, err error) { value, damaged = v, err }); err != nil {
		return nil, err
	}
	return value, damaged
}

// GetAll reads the values under many keys at once, nil where there is none, or a damaged one, which is set aside. They are not
// to be changed. The error is what the client says.
func (d *Depot) GetAll(ctx context.Context, keys []string) ([][]byte, error) {
	values := make([][]byte, len(keys))
	if err := d.read(ctx, keys, func(i int, v []byte, _ error) { values[i] = v }); err != nil {
		return nil, err
	}
	return values, nil
}

// read in one transaction what is stored under keys; take gets the place of a key and its value, if there is one.
func (d *Depot) read(ctx context.Context, keys []string, take func(i int, value []byte, damaged error)) error {
	select {
	case d.lead <- struct{}{}:
		defer func() { <-d.lead }()
	case <-ctx.Done():
		return ctx.Err()
	}
	var ops []*storage.Operation
	var places []int
	for i, key := range keys {
		if value, ok := d.known(key); ok {
			take(i, value, nil)
		} else {
			ops, places = append(ops, storage.GetOperation(key)), append(places, i)
		}
	}
	if len(ops) == 0 {
		return nil
	}
	if err := d.use(func() error { return d.client.Batch(ctx, ops...) }); err != nil {
		return err
	}
	for i, op := range ops {
		if op.Value == nil {
			continue
		}
		value, err := open(op.Key, op.Value)
		if err != nil {
			d.setAside(op.Key, op.Value)
		}
		take(places[i], value, err)
	}
	return nil
}

// known is the value under key if that can be told without the client.
func (d *Depot) known(key string) (value []byte, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if w := d.buffer[key]; w != nil {
		return w.value(), true
	}
	if w := d.flight[key]; w != nil {
		return w.value(), true
	}
	return nil, d.lacks(key)
}
