package segment

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// ErrFull says that as many bytes wait for the archive as may.
var ErrFull = errors.New("as many bytes of segments wait for the archive as max_pending allows")

// ErrClosed says that the folder takes nothing any more.
var ErrClosed = errors.New("the exporter has stopped")

// Options of a folder.
type Options struct {
	Directory  string
	Shard      string
	Fsync      bool          // Append returns when its frame would survive a power cut
	MaxSize    int64         // bytes of a segment that takes no more; one frame may lie beyond
	MaxAge     time.Duration // since the first frame of a segment that takes no more
	MaxPending int64         // bytes of all segments
	Disk       Disk          // nil: the operating system's
}

// Segment is a file that takes no more frames.
type Segment struct {
	Signal string
	ID     string
	Made   time.Time // when its first frame was appended

	path string
	size int64 // bytes of whole frames; beyond them lies nothing, or what was refused
}

// Name of the file.
func (s *Segment) Name() string { return filepath.Base(s.path) }

// Size in bytes.
func (s *Segment) Size() int64 { return s.size }

// Folder of segments. One process at a time has it.
type Folder struct {
	options Options
	disk    Disk
	lock    *os.File
	ready   chan struct{}

	mu     sync.Mutex // guards what follows; never held while the disk is used
	logs   map[string]*log
	sealed []*Segment // oldest first
	bytes  int64
}

// OpenFolder makes the folder if it is not there, locks it, and finds the segments that earlier processes left in it.
func OpenFolder(o Options) (*Folder, error) {
	if err := os.MkdirAll(o.Directory, 0o750); err != nil {
		return nil, err
	}
	lock, err := lockFolder(filepath.Join(o.Directory, "lock"))
	if err != nil {
		return nil, err
	}
	f := &Folder{options: o, disk: o.Disk, lock: lock, ready: make(chan struct{}, 1), logs: map[string]*log{}}
	if f.disk == nil {
		f.disk = osDisk{}
	}
	if err := f.find(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return f, nil
}

// find what earlier processes left.
func (f *Folder) find() error {
	entries, err := os.ReadDir(f.options.Directory)
	if err != nil {
		return err
	}
	for _, e := range entries {
		signal, id, made, ok := parseName(e.Name())
		if !ok {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		f.add(&Segment{Signal: signal, ID: id, Made: made, path: filepath.Join(f.options.Directory, e.Name()), size: info.Size()})
		f.bytes += info.Size()
	}
	return nil
}

// add a segment that takes no more.
func (f *Folder) add(s *Segment) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i, _ := slices.BinarySearchFunc(f.sealed, s, func(a, b *Segment) int { return cmp.Or(a.Made.Compare(b.Made), cmp.Compare(a.ID, b.ID)) })
	f.sealed = slices.Insert(f.sealed, i, s)
	select {
	case f.ready <- struct{}{}:
	default:
	}
}

// Ready has a value when segments were sealed since it was read.
func (f *Folder) Ready() <-chan struct{} { return f.ready }

// Sealed are the segments that wait, oldest first.
func (f *Folder) Sealed() []*Segment {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.sealed)
}

// Append a frame of signal. Once it returns nil a Reader will find the frame, and else none will, unless a disk that failed does not
// even let go of it.
func (f *Folder) Append(signal string, now time.Time, frame *Frame) error {
	n := int64(len(frame.b))
	l, err := f.reserve(signal, n)
	if err != nil {
		return err
	}
	if err := l.append(now, frame); err != nil {
		f.grow(-n)
		return err
	}
	return nil
}

// reserve room for n bytes.
func (f *Folder) reserve(signal string, n int64) (*log, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.logs == nil:
		return nil, ErrClosed
	case f.bytes+n > f.options.MaxPending:
		return nil, fmt.Errorf("%w: %d of %d bytes", ErrFull, f.bytes, f.options.MaxPending)
	}
	f.bytes += n
	l := f.logs[signal]
	if l == nil {
		l = newLog(f, signal)
		f.logs[signal] = l
	}
	return l, nil
}

// grow what is pending by n bytes, of which there may be less than none.
func (f *Folder) grow(n int64) {
	f.mu.Lock()
	f.bytes += n
	f.mu.Unlock()
}

// Seal the open segments that are as old as max_age.
func (f *Folder) Seal(now time.Time) {
	for _, l := range f.open() {
		l.sealOld(now)
	}
}

func (f *Folder) open() []*log {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]*log, 0, len(f.logs))
	for _, l := range f.logs {
		all = append(all, l)
	}
	return all
}

// Remove a segment that is archived.
func (f *Folder) Remove(s *Segment) error {
	if err := f.disk.Remove(s.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sealed = slices.DeleteFunc(f.sealed, func(other *Segment) bool { return other == s })
	f.bytes -= s.size
	return nil
}

// Pending is what is not archived.
type Pending struct {
	Segments int
	Bytes    int64
	Oldest   time.Time // when the oldest segment was begun; zero: there is none
}

// Pending is what is not archived now.
func (f *Folder) Pending() Pending {
	logs := f.open()
	f.mu.Lock()
	p := Pending{Segments: len(f.sealed), Bytes: f.bytes}
	if len(f.sealed) > 0 {
		p.Oldest = f.sealed[0].Made
	}
	f.mu.Unlock()
	for _, l := range logs {
		if made := l.begun.Load(); made != nil {
			p.Segments++
			if p.Oldest.IsZero() || made.Before(p.Oldest) {
				p.Oldest = *made
			}
		}
	}
	return p
}

// End takes no more frames and seals what is open. Close it afterwards.
func (f *Folder) End() {
	f.mu.Lock()
	logs := f.logs
	f.logs = nil
	f.mu.Unlock()
	for _, l := range logs {
		l.end()
	}
}

// Close lets another process have the folder.
func (f *Folder) Close() error { return f.lock.Close() }

// SetAside what stands in a segment, under damaged/ and a name that says where it was.
func (f *Folder) SetAside(s *Segment, item Item, content io.Reader) error {
	dir := filepath.Join(f.options.Directory, "damaged")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(dir, fmt.Sprintf("%s-%s-%d", s.Signal, s.ID, item.Offset)))
	if err != nil {
		return err
	}
	_, err = io.Copy(out, content)
	return errors.Join(err, out.Close())
}
