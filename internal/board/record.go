package board

import "encoding/binary"

// valueVersion leads every stored value.
const valueVersion = 1

// reader takes a stored value apart. What does not fit makes it broken, and all that is read then is zero.
type reader struct {
	rest   []byte
	broken bool
}

// open begins to read a value.
func open(value []byte) *reader {
	r := &reader{rest: value}
	r.require(r.byte() == valueVersion)
	return r
}

func (r *reader) require(holds bool) {
	if !holds {
		r.broken, r.rest = true, nil
	}
}

func (r *reader) byte() byte {
	if len(r.rest) == 0 {
		r.require(false)
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.require(false)
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) int() int64 {
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.require(false)
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// bytes shares memory with the value.
func (r *reader) bytes(most int) []byte {
	n := r.uint()
	if n > uint64(most) || n > uint64(len(r.rest)) {
		r.require(false)
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

// count of what follows, each of at least so many bytes.
func (r *reader) count(least int) int {
	n := r.uint()
	if n > uint64(len(r.rest)/least) {
		r.require(false)
		return 0
	}
	return int(n)
}

// whole says whether all was read and all fitted.
func (r *reader) whole() bool { return !r.broken && len(r.rest) == 0 }

func appendText[T string | []byte](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}
