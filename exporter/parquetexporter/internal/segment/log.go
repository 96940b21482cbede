package segment

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// log is the open segment of one signal. Frames are written one after the other and made durable together: whoever needs a
// sync while none runs does it for all that is written by then.
type log struct {
	folder *Folder
	signal string
	begun  atomic.Pointer[time.Time] // when the open segment was begun; nil: there is none

	mu     sync.Mutex // guards what follows; held while writing, not while syncing
	synced *sync.Cond // a sync has ended
	open   *opened
	ended  bool
}

// opened is the file of a segment that is not sealed.
type opened struct {
	segment  *Segment
	seed     uint64
	file     File
	header   int64 // its size in bytes
	written  int64 // end of the last whole frame
	durable  int64 // end of the last one that a sync covered
	syncing  bool
	full     bool  // takes no more frames
	failed   error // of a sync: what is not durable was refused
	released bool  // it was sealed, or removed
}

func newLog(f *Folder, signal string) *log {
	l := &log{folder: f, signal: signal}
	l.synced = sync.NewCond(&l.mu)
	return l
}

func (l *log) append(now time.Time, frame *Frame) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return ErrClosed
	}
	if l.open == nil {
		if err := l.begin(now); err != nil {
			return err
		}
	}
	o := l.open
	at := o.written
	bind(frame.b, o.seed, at)
	if _, err := o.file.WriteAt(frame.b, at); err != nil {
		if l.cut(o) != nil {
			// The file ends in half a frame. Readers find the whole ones.
			l.retire(o)
			l.seal(o)
		}
		return err
	}
	o.written += int64(len(frame.b))
	end := o.written
	last := o.written >= l.folder.options.MaxSize || now.Sub(o.segment.Made) >= l.folder.options.MaxAge
	if last {
		l.retire(o)
	}
	err := l.wait(o, end)
	if last {
		l.seal(o)
	}
	return err
}

// begin a segment.
func (l *log) begin(now time.Time) error {
	id, err := newID(now)
	if err != nil {
		return err
	}
	dir := l.folder.options.Directory
	path := filepath.Join(dir, fileName(l.signal, id))
	file, err := l.folder.disk.Create(path)
	if err != nil {
		return err
	}
	seed := seedOf(id)
	header := appendHeader(nil, l.signal, l.folder.options.Shard, seed)
	_, err = file.WriteAt(header, 0)
	if err == nil && l.folder.options.Fsync {
		if err = file.Sync(); err == nil {
			err = l.folder.disk.Sync(dir)
		}
	}
	if err != nil {
		return errors.Join(err, file.Close(), l.folder.disk.Remove(path))
	}
	n := int64(len(header))
	l.folder.grow(n)
	l.open = &opened{
		segment: &Segment{Signal: l.signal, ID: id, Made: now, path: path}, seed: seed, file: file,
		header: n, written: n, durable: n,
	}
	l.begun.Store(&now)
	return nil
}

// cut off what lies beyond the whole frames.
func (l *log) cut(o *opened) error { return o.file.Truncate(o.written) }

// retire o: it takes no more frames.
func (l *log) retire(o *opened) {
	o.full = true
	if l.open == o {
		l.open = nil
		l.begun.Store(nil)
	}
}

// wait until all up to end is durable, or refused.
func (l *log) wait(o *opened, end int64) error {
	if !l.folder.options.Fsync {
		return nil
	}
	for o.durable < end && o.failed == nil {
		if o.syncing {
			l.synced.Wait()
			continue
		}
		o.syncing = true
		target := o.written
		l.mu.Unlock()
		err := o.file.Sync()
		l.mu.Lock()
		o.syncing = false
		if err == nil {
			o.durable = max(o.durable, target)
		} else {
			l.fail(o, err)
		}
		l.synced.Broadcast()
	}
	if o.durable >= end {
		return nil
	}
	return o.failed
}

// fail o after a sync did. What the system holds of the rest is not known any more: it is cut off and refused, and the next
// frame begins a new segment.
func (l *log) fail(o *opened, err error) {
	o.failed = err
	o.written = o.durable
	l.retire(o)
	if cutting := l.cut(o); cutting != nil {
		o.failed = errors.Join(err, cutting)
	}
	l.seal(o)
}

// seal o, which takes no more: it waits for the archive from now on.
func (l *log) seal(o *opened) {
	_ = l.wait(o, o.written) // who appended what was refused is told
	if o.released {
		return
	}
	o.released = true
	o.segment.size = o.written
	if o.failed == nil {
		// It tells that nothing is missing. Without it the segment reads as one that a crash ended.
		_, _ = o.file.WriteAt(endFrame(o.seed, o.written), o.written)
	}
	_ = o.file.Close()
	if o.written == o.header && l.folder.disk.Remove(o.segment.path) == nil {
		l.folder.grow(-o.written)
		return
	}
	l.folder.add(o.segment)
}

// sealOld seals the open segment if it is as old as max_age.
func (l *log) sealOld(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if o := l.open; o != nil && now.Sub(o.segment.Made) >= l.folder.options.MaxAge {
		l.retire(o)
		l.seal(o)
	}
}

// end takes no more frames.
func (l *log) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	if o := l.open; o != nil {
		l.retire(o)
		l.seal(o)
	}
}

var _ File = (*os.File)(nil)
