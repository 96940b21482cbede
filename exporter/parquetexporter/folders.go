package parquetexporter

import (
	"net/url"
	"path/filepath"
)

// folderOf an archive; false: it is in a bucket.
func folderOf(archive string) (string, bool) {
	u, err := url.Parse(archive)
	if err != nil || u.Scheme != "file" {
		return "", false
	}
	return filepath.Clean(u.Path), true
}

// inside says whether path is folder, or lies in it.
func inside(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}
