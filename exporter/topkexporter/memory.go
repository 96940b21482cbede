package topkexporter

import (
	"context"

	xstorage "go.opentelemetry.io/collector/extension/xextension/storage"
)

// memory is the client of a storage that ends with the process. A depot calls it for one at a time.
type memory map[string][]byte

func (m memory) Get(_ context.Context, key string) ([]byte, error) { return m[key], nil }

func (m memory) Set(_ context.Context, key string, value []byte) error {
	m[key] = value
	return nil
}

func (m memory) Delete(_ context.Context, key string) error {
	delete(m, key)
	return nil
}

func (m memory) Batch(_ context.Context, ops ...*xstorage.Operation) error {
	for _, op := range ops {
		switch op.Type {
		case xstorage.Get:
			op.Value = m[op.Key]
		case xstorage.Set:
			m[op.Key] = op.Value
		case xstorage.Delete:
			delete(m, op.Key)
		}
	}
	return nil
}

func (memory) Close(context.Context) error { return nil }
