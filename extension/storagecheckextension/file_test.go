package storagecheckextension

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"
)

// options are those that file_storage opens its files with.
func options() *bbolt.Options {
	return &bbolt.Options{NoSync: true, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType, Timeout: lockTimeout}
}

// newFile is one of file_storage that holds values of these sizes.
func newFile(t testing.TB, path string, sizes ...int) []byte {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, options())
	require.NoError(t, err)
	for i, size := range sizes {
		require.NoError(t, db.Update(func(tx *bbolt.Tx) error {
			bucket, err := tx.CreateBucketIfNotExists([]byte("default"))
			if err != nil {
				return err
			}
			return bucket.Put(fmt.Appendf(nil, "key %d", i), fmt.Appendf(make([]byte, size), "value %d", i))
		}))
	}
	require.NoError(t, db.Close())
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return content
}

// files that a component may leave: by name, the sizes of their values.
var files = map[string][]int{
	"one value inside the root": {10},
	"values of all sizes":       mixed(150),
	"small values on two levels": func() (sizes []int) {
		for range 600 {
			sizes = append(sizes, 40)
		}
		return sizes
	}(),
}

func mixed(n int) (sizes []int) {
	for i := range n {
		sizes = append(sizes, []int{0, 10, 300, 5000, 20_000}[i%5])
	}
	return sizes
}

// use a file as a component does: all is read, and something is written.
func use(t testing.TB, path string) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, options())
	require.NoError(t, err)
	require.NoError(t, db.Update(func(tx *bbolt.Tx) error {
		bucket, err := tx.CreateBucketIfNotExists([]byte("default"))
		if err != nil {
			return err
		}
		read := 0
		err = bucket.ForEach(func(_, value []byte) error {
			for _, b := range value {
				read += int(b)
			}
			return nil
		})
		if err != nil {
			return err
		}
		return bucket.Put([]byte("another"), make([]byte, 10_000))
	}))
	require.NoError(t, db.Close())
}

func write(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}
