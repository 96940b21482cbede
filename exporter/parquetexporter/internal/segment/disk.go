package segment

import (
	"errors"
	"os"
)

// Disk is what segments are written to.
type Disk interface {
	Create(path string) (File, error) // a new file
	Remove(path string) error
	Sync(directory string) error // the names in it
}

// File that is written.
type File interface {
	WriteAt(b []byte, offset int64) (int, error)
	Sync() error
	Truncate(size int64) error
	Close() error
}

type osDisk struct{}

func (osDisk) Create(path string) (File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (osDisk) Remove(path string) error { return os.Remove(path) }

func (osDisk) Sync(directory string) error {
	d, err := os.Open(directory)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
