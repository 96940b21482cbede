package depot

import (
	"context"
	"maps"

	"go.opentelemetry.io/collector/extension/xextension/storage"
)

// Memory is the client of a storage that ends with the process. A Depot calls it for one at a time.
type Memory map[string][]byte

var _ storage.Walker = Memory(nil)

// Get is as of storage.Client.
func (m Memory) Get(_ context.Context, key string) ([]byte, error) { return m[key], nil }

// Set is as of storage.Client.
func (m Memory) Set(_ context.Context, key string, value []byte) error {
	m[key] = value
	return nil
}

// Delete is as of storage.Client.
func (m Memory) Delete(_ context.Context, key string) error {
	delete(m, key)
	return nil
}

// Batch is as of storage.Client.
func (m Memory) Batch(_ context.Context, ops ...*storage.Operation) error {
	for _, op := range ops {
		switch op.Type {
		case storage.Get:
			op.Value = m[op.Key]
		case storage.Set:
			m[op.Key] = op.Value
		case storage.Delete:
			delete(m, op.Key)
		}
	}
	return nil
}

// Walk is as of storage.Walker.
func (m Memory) Walk(ctx context.Context, visit storage.WalkFunc) error {
	for key, value := range maps.Clone(m) {
		ops, err := visit(key, value)
		if err != nil {
			return err
		}
		if err := m.Batch(ctx, ops...); err != nil {
			return err
		}
	}
	return nil
}

// Close is as of storage.Client.
func (Memory) Close(context.Context) error { return nil }
