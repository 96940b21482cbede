package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// folder is an archive in a folder.
type folder struct {
	root string

	guard sync.Mutex
	found bool // the root was there: if it is gone, it vanished
}

func openFolder(u *url.URL) (*folder, error) {
	if u.Host != "" && u.Host != "localhost" || !strings.HasPrefix(u.Path, "/") || u.RawQuery != "" {
		return nil, errors.New("a folder is file:/// and an absolute path, as file:///var/lib/archive, without parameters")
	}
	f := &folder{root: filepath.Clean(u.Path)}
	info, err := os.Stat(f.root)
	if f.found = err == nil; f.found && !info.IsDir() {
		return nil, fmt.Errorf("%s is a file; an archive is a folder", f.describe())
	}
	return f, nil
}

func (f *folder) describe() string { return "file://" + (&url.URL{Path: f.root}).EscapedPath() }

func (f *folder) exists(context.Context) (bool, error) {
	info, err := os.Stat(f.root)
	return err == nil && info.IsDir(), ignoreAbsent(err)
}

// Modes of what is written, which the process's umask narrows. Records hold personal data: others of the machine are kept out, and
// the group may read.
const (
	folderMode = 0o750
	fileMode   = 0o640
)

// A temporary file lies beside what it becomes: a dot, that name, random digits, and this.
const temporarySuffix = ".tmp"

// createTemporary makes the temporary file of name. os.CreateTemp has a mode of its own.
func createTemporary(dir, name string) (*os.File, error) {
	temporary := "." + name + "." + strconv.FormatUint(rand.Uint64(), 10) + temporarySuffix
	return os.OpenFile(filepath.Join(dir, temporary), os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
}

func temporary(name string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, temporarySuffix)
}

// makeRoot makes the root if it never was there.
func (f *folder) makeRoot() error {
	f.guard.Lock()
	defer f.guard.Unlock()
	if _, err := os.Stat(f.root); err != nil {
		if f.found {
			return fmt.Errorf("archive: the folder is gone, which was there before: %w", err)
		}
		if err := os.MkdirAll(f.root, folderMode); err != nil {
			return err
		}
	}
	f.found = true
	return nil
}

func (f *folder) put(ctx context.Context, path string, write func(io.Writer) error) (size int64, err error) {
	if err := f.makeRoot(); err != nil {
		return 0, err
	}
	target := filepath.Join(f.root, filepath.FromSlash(path))
	dir, name := filepath.Split(target)
	if err := f.makeFolders(dir); err != nil {
		return 0, err
	}
	file, err := createTemporary(dir, name)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreAbsent(os.Remove(file.Name())))
		}
	}()
	out := &countingWriter{ctx: ctx, out: file}
	if err = write(out); err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return 0, err
	}
	if err = os.Rename(file.Name(), target); err != nil {
		return 0, err
	}
	// The object is there now: an error says that it may not outlast a power cut.
	return out.n, syncFolder(dir)
}

// makeFolders makes dir under the root, durably.
func (f *folder) makeFolders(dir string) error {
	var missing []string
	for d := filepath.Clean(dir); len(d) > len(f.root); d = filepath.Dir(d) {
		if _, err := os.Stat(d); err == nil {
			break
		}
		missing = append(missing, d)
	}
	for i := len(missing) - 1; i >= 0; i-- {
		if err := os.Mkdir(missing[i], folderMode); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := syncFolder(filepath.Dir(missing[i])); err != nil {
			return err
		}
	}
	return nil
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// countingWriter ends with its context.
type countingWriter struct {
	ctx context.Context
	out io.Writer
	n   int64
}

func (w *countingWriter) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := w.out.Write(p)
	w.n += int64(n)
	return n, err
}

// openFile is an Object in a folder.
type openFile struct {
	*os.File
	ctx  context.Context
	size int64
}

func (o *openFile) Size() int64 { return o.size }

// ReadAt reads unless the context has ended.
func (o *openFile) ReadAt(p []byte, offset int64) (int, error) {
	if err := o.ctx.Err(); err != nil {
		return 0, err
	}
	return o.File.ReadAt(p, offset)
}

func (f *folder) open(ctx context.Context, path string) (Object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	name := filepath.Join(f.root, filepath.FromSlash(path))
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("archive: %s: %w: it is a folder", path, fs.ErrNotExist)
	case !info.Mode().IsRegular(): // to open a pipe would wait for its writer
		return nil, fmt.Errorf("%w: it is no regular file", ErrForeign)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err = file.Stat(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &openFile{file, ctx, info.Size()}, nil
}

func (f *folder) remove(ctx context.Context, path string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	target := filepath.Join(f.root, filepath.FromSlash(path))
	if err := os.Remove(target); err != nil {
		return ignoreAbsent(err)
	}
	// Folders that are empty now go too; one that is not stays.
	for d := filepath.Dir(target); len(d) > len(f.root); d = filepath.Dir(d) {
		if os.Remove(d) != nil {
			break
		}
	}
	return nil
}

// walk calls visit for each file under prefix, with its path in the archive.
func (f *folder) walk(ctx context.Context, prefix string, visit func(path string, d fs.DirEntry) error) error {
	from := f.root
	if slash := strings.LastIndexByte(prefix, '/'); slash >= 0 {
		from = filepath.Join(f.root, filepath.FromSlash(prefix[:slash]))
	}
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err != nil {
			return ignoreAbsent(err)
		}
		if d.IsDir() {
			return nil
		}
		rel, err := filepath.Rel(f.root, name)
		if err != nil {
			return err
		}
		if path := filepath.ToSlash(rel); strings.HasPrefix(path, prefix) {
			return visit(path, d)
		}
		return nil
	})
}

func (f *folder) list(ctx context.Context, prefix string) (entries []Entry, err error) {
	err = f.walk(ctx, prefix, func(path string, d fs.DirEntry) error {
		if temporary(d.Name()) {
			return nil
		}
		info, err := d.Info()
		if err == nil {
			entries = append(entries, Entry{path, info.Size()})
		}
		return ignoreAbsent(err)
	})
	return entries, err
}

func (f *folder) tidy(ctx context.Context, shard string) (n int, err error) {
	err = f.walk(ctx, "", func(path string, d fs.DirEntry) error {
		name, of := strings.CutPrefix(d.Name(), "."+shardName(shard)+"-")
		if !of || !temporary(d.Name()) || !segmentPattern.MatchString(targetOf(name)) {
			return nil
		}
		n++
		return ignoreAbsent(os.Remove(filepath.Join(f.root, filepath.FromSlash(path))))
	})
	return n, err
}

func (f *folder) abandoned(ctx context.Context, prefix string, before time.Time) (n int, err error) {
	err = f.walk(ctx, prefix, func(path string, d fs.DirEntry) error {
		if !temporary(d.Name()) {
			return nil
		}
		info, err := d.Info()
		if err != nil || !info.ModTime().Before(before) {
			return ignoreAbsent(err)
		}
		n++
		return ignoreAbsent(os.Remove(filepath.Join(f.root, filepath.FromSlash(path))))
	})
	return n, err
}

// targetOf is a temporary name without what CreateTemp put behind it.
func targetOf(name string) string {
	name = strings.TrimSuffix(name, temporarySuffix)
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
		name = name[:dot]
	}
	return name
}

func (f *folder) close() error { return nil }
