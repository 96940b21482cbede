package topkprocessor

import (
	"encoding/binary"
	"errors"
)

// errStored is of a stored value that was written whole and does not follow FORMAT.md.
var errStored = errors.New("topk: a stored value does not follow its format")

// reader of a stored value. What it cannot read makes it bad; it reads zeros from then on.
type reader struct {
	b   []byte
	bad bool
}

// end is an error unless all was read, and well.
func (r *reader) end() error {
	if r.bad || len(r.b) > 0 {
		return errStored
	}
	return nil
}

func (r *reader) fail() {
	r.b, r.bad = nil, true
}

// version refuses any other than the one that is known.
func (r *reader) version(known byte) {
	if r.byte() != known {
		r.fail()
	}
}

func (r *reader) byte() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) fixed32() uint32 {
	if b := r.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) fixed() uint64 {
	if b := r.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

// count of what follows, of which each takes at least size bytes: what is allocated for it is bounded by what is there.
func (r *reader) count(size int) int {
	n := r.uvarint()
	if n > uint64(len(r.b)/size) {
		r.fail()
		return 0
	}
	return int(n)
}

// bytes shares memory with the value; nil if there are fewer.
func (r *reader) bytes(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.fail()
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

// block is bytes behind their number.
func (r *reader) block() []byte { return r.bytes(r.count(1)) }

func appendBlock[B []byte | string](dst []byte, block B) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(block))), block...)
}
