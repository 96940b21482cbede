package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Store is where an archive lies: a folder (file:///…) or a bucket (s3://, gs://, azblob://) as gocloud.dev/blob opens it. Safe for
// concurrent use.
type Store struct{ in medium }

// medium is a folder or a bucket. Paths are clean and have slashes.
type medium interface {
	put(ctx context.Context, path string, write func(io.Writer) error) (size int64, err error)
	open(ctx context.Context, path string) (Object, error)
	remove(ctx context.Context, path string) error
	list(ctx context.Context, prefix string) ([]Entry, error) // in any order
	tidy(ctx context.Context, shard string) (int, error)
	abandoned(ctx context.Context, prefix string, before time.Time) (int, error)
	describe() string
	exists(ctx context.Context) (bool, error)
	close() error
}

// OpenStore opens url, without looking whether the folder or bucket is there. The error names what is wrong with it, to be read after
// what it is the URL of; no secret is in it.
//
//	file:///var/lib/archive                 a folder, by its absolute path
//	s3://bucket?region=eu-central-1         S3; also endpoint=http://host:port, use_path_style=true, for servers that are like it
//	gs://bucket                             Google Cloud Storage
//	azblob://container                      Azure
//
// prefix=some/folder/ puts the archive into a folder of the bucket. Credentials are found as the cloud's own tools do, from the
// environment, files or the machine.
func OpenStore(ctx context.Context, rawURL string) (*Store, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, errors.New("not a URL; one is file:///folder, s3://bucket, gs://bucket or azblob://container")
	}
	if u.Scheme == "" && u.Host == "" {
		return nil, noURL(u.Path)
	}
	if u.User != nil {
		return nil, fmt.Errorf("the %s:// URL names a user or password, which belong into the environment", u.Scheme)
	}
	switch u.Scheme {
	case "file":
		in, err := openFolder(u)
		if err != nil {
			return nil, err
		}
		return &Store{in}, nil
	case "s3", "gs", "azblob":
		in, err := openBucket(ctx, u)
		if err != nil {
			return nil, err
		}
		return &Store{in}, nil
	case "http", "https":
		return nil, fmt.Errorf("scheme %q is not one of file, s3, gs, azblob; an S3 server is written s3://bucket?endpoint=%[1]s://host:port&use_path_style=true&region=us-east-1", u.Scheme)
	default:
		other := ""
		if s := schemes[u.Scheme]; s != "" {
			other = "; this one is written " + s + "://"
		}
		return nil, fmt.Errorf("scheme %q is not one of file, s3, gs, azblob%s", u.Scheme, other)
	}
}

// schemes that other tools have, and how they are written here.
var schemes = map[string]string{"gcs": "gs", "gcp": "gs", "s3a": "s3", "s3n": "s3", "az": "azblob", "azure": "azblob"}

// noURL tells how a path is written.
func noURL(path string) error {
	if strings.HasPrefix(path, "/") {
		return fmt.Errorf("%q is no URL; a folder is written file://%s", path, (&url.URL{Path: path}).EscapedPath())
	}
	return fmt.Errorf("%q is no URL; a folder is written file:// and its absolute path, as file:///srv/archive", path)
}

// Name of the archive: its URL without parameters, among which there may be secrets.
func (s *Store) Name() string { return s.in.describe() }

// Exists says whether the folder or the bucket is there.
func (s *Store) Exists(ctx context.Context) (bool, error) { return s.in.exists(ctx) }

// Put writes an object: it is complete under its path once Put returns nil, else absent, or what it was before. In a folder:
// temporary name, fsync, rename, fsync of the folder.
func (s *Store) Put(ctx context.Context, path string, write func(io.Writer) error) (size int64, err error) {
	if err := checkPath(path); err != nil {
		return 0, err
	}
	return s.in.put(ctx, path, write)
}

// Object is an open object.
type Object interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// Open an object, which reads under ctx. errors.Is(err, fs.ErrNotExist) where there is none.
func (s *Store) Open(ctx context.Context, path string) (Object, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	return s.in.open(ctx, path)
}

// Delete an object; one that is absent is deleted.
func (s *Store) Delete(ctx context.Context, path string) error {
	if err := checkPath(path); err != nil {
		return err
	}
	return s.in.remove(ctx, path)
}

// Entry is an object that exists.
type Entry struct {
	Path string
	Size int64
}

// List is what exists under prefix, sorted by path. Temporary files are not.
func (s *Store) List(ctx context.Context, prefix string) ([]Entry, error) {
	entries, err := s.in.list(ctx, prefix)
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	return entries, err
}

// Files lists the files of a signal from hour from up to and without to, sorted by hour and name, and what lies between them that
// is none.
func (s *Store) Files(ctx context.Context, signal string, from, to Hour) (files []File, foreign []string, err error) {
	if from >= to {
		return nil, nil, nil
	}
	for _, prefix := range hourPrefixes(signal, from, to) {
		entries, err := s.List(ctx, prefix)
		if err != nil {
			return nil, nil, err
		}
		for _, e := range entries {
			f, err := ParseFile(e.Path)
			switch {
			case err != nil:
				if h, ok := hourOfPath(e.Path); !ok || h >= from && h < to {
					foreign = append(foreign, e.Path)
				}
			case f.Hour >= from && f.Hour < to:
				f.Size = e.Size
				files = append(files, f)
			}
		}
	}
	slices.SortStableFunc(files, func(a, b File) int {
		return strings.Compare(a.Path(), b.Path())
	})
	return files, foreign, nil
}

// maxPrefixes are listed one by one; a longer range is a listing of all that it may be in.
const maxPrefixes = 48

// hourPrefixes are folders that hold the hours: hours, days, or all of the signal.
func hourPrefixes(signal string, from, to Hour) (prefixes []string) {
	dayLayout := hourLayout[:strings.LastIndexByte(hourLayout, '/')]
	switch firstDay, lastDay := from.Day(), (to - 1).Day(); {
	case to-from <= maxPrefixes:
		for h := from; h < to; h++ {
			prefixes = append(prefixes, signal+"/"+h.Start().Format(hourLayout)+"/")
		}
	case lastDay-firstDay < maxPrefixes*24:
		for d := firstDay; d <= lastDay; d += 24 {
			prefixes = append(prefixes, signal+"/"+d.Start().Format(dayLayout)+"/")
		}
	default:
		prefixes = []string{signal + "/"}
	}
	return prefixes
}

// Tidy removes the temporary files that an earlier process left when it wrote files of this shard and ended in between, and says how
// many. No other process may write for the shard meanwhile. Buckets have none.
func (s *Store) Tidy(ctx context.Context, shard string) (int, error) { return s.in.tidy(ctx, shard) }

// Abandoned removes the temporary files under prefix that were last written to before a time, whoever left them, and says how many.
// Buckets have none.
func (s *Store) Abandoned(ctx context.Context, prefix string, before time.Time) (int, error) {
	return s.in.abandoned(ctx, prefix, before)
}

// Close the store.
func (s *Store) Close() error { return s.in.close() }

// checkPath refuses what could mean another place than it says.
func checkPath(path string) error {
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.ContainsAny(part, "\\\x00") {
			return fmt.Errorf("archive: path %q has an empty part, one that begins with a dot, or a backslash", path)
		}
	}
	return nil
}
