//go:build !windows

package recount

import (
	"errors"
	"os"
)

// nameless opens a file that has no name any more.
func nameless(directory string) (*os.File, error) {
	file, err := os.CreateTemp(directory, "topk-recount-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
