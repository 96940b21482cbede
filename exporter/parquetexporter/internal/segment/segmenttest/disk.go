// Package segmenttest has a disk that fails as disks do.
package segmenttest

import (
	"errors"
	"math/rand/v2"
	"os"
	"sync"

	"github.com/otel-topk/collector/exporter/parquetexporter/internal/segment"
)

// ErrCrash is what everything returns once the machine has crashed.
var ErrCrash = errors.New("crashed")

// Step of using a disk: create, write, sync, truncate, close, remove, or sync names.
type Step string

// Disk of real files that fails on demand. What was not synced may be lost in a crash.
type Disk struct {
	Random *rand.Rand
	// Before each step; an error fails it. ErrCrash crashes the machine. It is called by one step at a time.
	Before func(Step) error
	// Late says that a write fails after all was written.
	Late bool

	mu      sync.Mutex
	crashed bool
	files   map[string]*file
	synced  int
}

type file struct {
	disk             *Disk
	path             string
	f                *os.File
	durable, written int64
	named            bool // its name is durable
}

// step says whether it may be done.
func (d *Disk) step(s Step) error {
	if d.crashed {
		return ErrCrash
	}
	if d.Before == nil {
		return nil
	}
	err := d.Before(s)
	if errors.Is(err, ErrCrash) {
		d.crash()
	}
	return err
}

// Crash the machine now.
func (d *Disk) Crash() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.crashed {
		d.crash()
	}
}

// crash leaves of each file what is durable, and anything of the rest.
func (d *Disk) crash() {
	d.crashed = true
	for _, f := range d.files {
		if !f.named && d.Random.IntN(2) == 0 {
			_ = os.Remove(f.path)
			continue
		}
		size := f.durable + d.Random.Int64N(f.written-f.durable+1)
		_ = os.Truncate(f.path, size)
		if size > f.durable && d.Random.IntN(2) == 0 {
			if w, err := os.OpenFile(f.path, os.O_WRONLY, 0); err == nil {
				_, _ = w.WriteAt(make([]byte, 1+d.Random.Int64N(size-f.durable)), f.durable)
				_ = w.Close()
			}
		}
	}
}

// Hold the step that is asked about, and let others go on, until release is closed. For Before.
func (d *Disk) Hold(release <-chan struct{}) {
	d.mu.Unlock()
	<-release
	d.mu.Lock()
}

// Syncs of files so far.
func (d *Disk) Syncs() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.synced
}

// Create a new file.
func (d *Disk) Create(path string) (segment.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step("create"); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	if d.files == nil {
		d.files = map[string]*file{}
	}
	d.files[path] = &file{disk: d, path: path, f: f}
	return d.files[path], nil
}

// Remove a file.
func (d *Disk) Remove(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step("remove"); err != nil {
		return err
	}
	delete(d.files, path)
	return os.Remove(path)
}

// Sync the names in a folder.
func (d *Disk) Sync(string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step("sync names"); err != nil {
		return err
	}
	for _, f := range d.files {
		f.named = true
	}
	return nil
}

// WriteAt writes, or a part of it if that fails.
func (f *file) WriteAt(b []byte, offset int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.crashed {
		return 0, ErrCrash
	}
	err := f.disk.step("write")
	if err != nil && !f.disk.Late {
		b = b[:f.disk.Random.IntN(len(b)+1)]
	}
	n, writing := f.f.WriteAt(b, offset)
	f.written = max(f.written, offset+int64(n))
	return n, errors.Join(err, writing)
}

// Sync what was written.
func (f *file) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.step("sync"); err != nil {
		return err
	}
	f.disk.synced++
	f.durable = f.written
	return nil
}

// Truncate the file.
func (f *file) Truncate(size int64) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.step("truncate"); err != nil {
		return err
	}
	f.written, f.durable = size, min(f.durable, size)
	return f.f.Truncate(size)
}

// Close the file. What was not synced is not durable by that.
func (f *file) Close() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	err := f.disk.step("close")
	return errors.Join(err, f.f.Close())
}
