package dataset

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
)

// readFile returns the whole of a file, decompressed as its name says.
func readFile(path ...string) ([]byte, error) {
	name := filepath.Join(path...)
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	switch filepath.Ext(name) {
	case ".gz":
		r, err := gzip.NewReader(file)
		if err != nil {
			return nil, err
		}
		return io.ReadAll(r)
	case ".zst":
		r, err := zstd.NewReader(file)
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return io.ReadAll(r)
	}
	return io.ReadAll(file)
}
