//go:build !unix

package segment

import (
	"errors"
	"os"
)

// lockFolder needs a lock that ends with the process, and folders that can be synced.
func lockFolder(string) (*os.File, error) {
	return nil, errors.New("segments are kept on Unix systems only")
}
