package depot

import (
	"context"
	"errors"
	"fmt"

	bbolt "go.etcd.io/bbolt/errors"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension/xextension/storage"
)

// Connect opens the depot of one component in the storage extension called extension. An error of the configuration (no such
// extension, or it stores nothing) is a *MisconfiguredError; any other says why the storage cannot be opened now.
func Connect(ctx context.Context, host component.Host, extension component.ID, kind component.Kind, id component.ID) (*Depot, error) {
	found, ok := host.GetExtensions()[extension]
	if !ok {
		return nil, &MisconfiguredError{fmt.Sprintf("storage: there is no extension %q; it must stand under extensions and under service.extensions", extension)}
	}
	s, ok := found.(storage.Extension)
	if !ok {
		return nil, &MisconfiguredError{fmt.Sprintf("storage: %q is no storage extension; file_storage is one", extension)}
	}
	var client storage.Client
	if err := survive(func() (err error) {
		client, err = s.GetClient(ctx, kind, id, "")
		return err
	}); errors.Is(err, bbolt.ErrTimeout) {
		return nil, fmt.Errorf("storage: %q: %w: is another collector using its directory? each needs one of its own", extension, err)
	} else if err != nil {
		return nil, fmt.Errorf("storage: %q: %w", extension, err)
	}
	if _, ok := client.(storage.Walker); !ok {
		text := fmt.Sprintf("storage: %q cannot list what it holds, which is needed to start from it; file_storage can", extension)
		return nil, errors.Join(&MisconfiguredError{text}, client.Close(ctx))
	}
	return New(client), nil
}

// MisconfiguredError is of a storage that cannot be, whatever is tried.
type MisconfiguredError struct{ text string }

func (e *MisconfiguredError) Error() string { return e.text }
