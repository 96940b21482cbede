package depot

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension/xextension/storage"
)

// other is an extension that gives this client.
type other struct {
	component.StartFunc
	component.ShutdownFunc
	client storage.Client // nil: it panics, as bbolt does on some damaged files
}

func (o other) GetClient(context.Context, component.Kind, component.ID, string) (storage.Client, error) {
	if o.client == nil {
		panic("freepages")
	}
	return o.client, nil
}

func TestMisconfiguredStorageIsToldFromOneThatCannotBeOpenedNow(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, 1)
	locked, err := connect(dir)
	require.NoError(t, err)
	defer func() { require.NoError(t, locked.Close(ctx)) }()
	garbage := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(garbage, filepath.Base(file(t, dir))), make([]byte, 1<<16), 0o600))
	gone := t.TempDir()
	require.NoError(t, os.Remove(gone))

	ofFiles := func(dir string) host {
		h, err := fileHost(dir)
		require.NoError(t, err)
		return h
	}
	for name, c := range map[string]struct {
		host          host
		want          string
		misconfigured bool
	}{
		"no such extension":       {host{}, `there is no extension "file_storage"`, true},
		"it stores nothing":       {host{fileStorage: nil}, `"file_storage" is no storage extension`, true},
		"it cannot list":          {host{fileStorage: other{client: storage.NewNopClient()}}, "cannot list what it holds", true},
		"bbolt panics":            {host{fileStorage: other{}}, "the storage is damaged: freepages", false},
		"another has it":          {ofFiles(dir), "timeout: is another collector using its directory", false},
		"the file is none of its": {ofFiles(garbage), "invalid", false},
		"the folder is gone":      {ofFiles(gone), "no such file", false},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Connect(ctx, c.host, fileStorage, component.KindProcessor, processor)
			require.Nil(t, d)
			require.ErrorContains(t, err, "storage: ")
			require.ErrorContains(t, err, c.want)
			var misconfigured *MisconfiguredError
			assert.Equal(t, c.misconfigured, errors.As(err, &misconfigured))
		})
	}
}

func TestEndedContextsAreHonouredWhileOthersUseTheStorage(t *testing.T) {
	d := New(Memory{})
	d.lead <- struct{}{}
	ended, end := context.WithCancel(ctx)
	end()
	_, err := d.Get(ended, "key")
	assert.ErrorIs(t, err, context.Canceled)
	assert.ErrorIs(t, d.Walk(ended, nil), context.Canceled)
	require.NoError(t, d.Set("key", nil))
	assert.ErrorIs(t, d.Commit(ended), context.Canceled)
	<-d.lead
}

func TestCloseCommitsAlsoWhenItsContextHasEnded(t *testing.T) {
	ended, end := context.WithCancel(ctx)
	end()
	for range 100 { // which of two ready channels is taken is a matter of chance
		d := New(Memory{})
		require.NoError(t, d.Set("key", nil))
		require.NoError(t, d.Close(ended))
		require.Contains(t, d.client, "key")
	}
}
