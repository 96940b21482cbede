//go:build unix

package archive

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOthersOfTheMachineDoNotReadRecords(t *testing.T) {
	for _, row := range []struct {
		umask        int
		folder, file fs.FileMode
	}{{0o022, 0o750, 0o640}, {0, 0o750, 0o640}, {0o077, 0o700, 0o600}} {
		t.Run(fmt.Sprintf("%03o", row.umask), func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "archive")
			s := openStore(t, "file://"+root)
			defer syscall.Umask(syscall.Umask(row.umask))
			put(t, s, "logs/year=2026/a.parquet", "x")
			require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
				require.NoError(t, err)
				info, err := d.Info()
				require.NoError(t, err)
				if d.IsDir() {
					require.Equal(t, row.folder, info.Mode().Perm(), path)
				} else {
					require.Equal(t, row.file, info.Mode().Perm(), path)
				}
				return nil
			}))
		})
	}
}
