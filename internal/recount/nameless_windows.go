package recount

import (
	"crypto/rand"
	"os"
	"path/filepath"
)

const deleteOnClose = 0x04000000 // FILE_FLAG_DELETE_ON_CLOSE

// nameless opens a file that the system deletes when it is closed, also where the process is killed.
func nameless(directory string) (*os.File, error) {
	return os.OpenFile(filepath.Join(directory, "topk-recount-"+rand.Text()), os.O_RDWR|os.O_CREATE|os.O_EXCL|deleteOnClose, 0o600)
}
