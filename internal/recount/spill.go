package recount

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
)

// spill is a file of sorted runs in a directory, one after the other. It has no name there: whatever ends the process, nothing is
// left over.
type spill struct {
	directory string
	file      *os.File
	end       int64
	runs      []run
}

// run is where in the file rows lie, sorted by the place of their list, and by key.
type run struct{ from, to int64 }

// row is a weight in a run or a table.
type row struct {
	list            uint32
	key             []byte // until the next row
	weight, records uint64
}

const (
	writeBytes = 256 << 10
	readBytes  = 64 << 10 // for each run that is read
	maxKey     = 1<<16 - 1
)

// newSpill makes no file until there is something to write. directory "": the system's for temporary files.
func newSpill(directory string) *spill {
	if directory == "" {
		directory = os.TempDir()
	}
	return &spill{directory: directory}
}

// runWriter appends a run to the file.
type runWriter struct {
	spill *spill
	buf   *bufio.Writer
	run   run
	head  []byte
}

func (s *spill) writer() (*runWriter, error) {
	if s.file == nil {
		file, err := nameless(s.directory)
		if err != nil {
			return nil, s.failed(err)
		}
		s.file = file
	}
	return &runWriter{spill: s, buf: bufio.NewWriterSize(io.NewOffsetWriter(s.file, s.end), writeBytes), run: run{s.end, s.end}}, nil
}

func (s *spill) failed(err error) error {
	return fmt.Errorf("cannot spill to the directory %s: %w", s.directory, err)
}

func (w *runWriter) append(r *row) error {
	w.head = binary.AppendUvarint(w.head[:0], uint64(r.list))
	w.head = binary.AppendUvarint(w.head, r.weight)
	w.head = binary.AppendUvarint(w.head, r.records)
	w.head = binary.AppendUvarint(w.head, uint64(len(r.key)))
	if _, err := w.buf.Write(w.head); err != nil {
		return w.spill.failed(err)
	}
	if _, err := w.buf.Write(r.key); err != nil {
		return w.spill.failed(err)
	}
	w.run.to += int64(len(w.head) + len(r.key))
	return nil
}

// close ends the run.
func (w *runWriter) close() (run, error) {
	if err := w.buf.Flush(); err != nil {
		return run{}, w.spill.failed(err)
	}
	w.spill.end = w.run.to
	return w.run, nil
}

// runReader reads rows.
type runReader struct {
	spill *spill
	buf   *bufio.Reader
	row   row
	key   []byte
}

func (s *spill) reader(r run) *runReader {
	return &runReader{spill: s, buf: bufio.NewReaderSize(io.NewSectionReader(s.file, r.from, r.to-r.from), readBytes)}
}

// next reads a row; ok is false after the last.
func (r *runReader) next() (ok bool, err error) {
	if _, err := r.buf.Peek(1); errors.Is(err, io.EOF) {
		return false, nil
	}
	list, err := binary.ReadUvarint(r.buf)
	r.row.list = uint32(list)
	r.row.weight = r.number(&err)
	r.row.records = r.number(&err)
	n := r.number(&err)
	if err == nil && n <= maxKey {
		r.key = append(r.key[:0], make([]byte, n)...)
		_, err = io.ReadFull(r.buf, r.key)
	}
	r.row.key = r.key
	if err == nil && n > maxKey {
		err = errors.New("a key is too long")
	}
	if err != nil {
		return false, fmt.Errorf("what was spilled to the directory %s cannot be read: %w", r.spill.directory, err)
	}
	return true, nil
}

func (r *runReader) number(err *error) uint64 {
	if *err != nil {
		return 0
	}
	var n uint64
	n, *err = binary.ReadUvarint(r.buf)
	return n
}

func (s *spill) close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	return err
}

// rows of a run.
func (s *spill) rows(of run) iter.Seq2[*row, error] {
	return func(yield func(*row, error) bool) {
		for r := s.reader(of); ; {
			ok, err := r.next()
			if err != nil {
				yield(nil, err)
				return
			}
			if !ok || !yield(&r.row, nil) {
				return
			}
		}
	}
}
