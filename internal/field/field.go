// Package field takes stored values apart: numbers, texts and bytes that follow one another.
package field

import (
	"encoding/binary"
	"math"
)

// Reader of a value. What does not fit breaks it, and all that is read from then on is zero. Nothing is allocated for what a
// value announces: what is returned shares memory with it.
type Reader struct {
	rest   []byte
	broken bool
}

// New begins to read a value.
func New(value []byte) *Reader { return &Reader{rest: value} }

// Require breaks the reader unless holds.
func (r *Reader) Require(holds bool) {
	if !holds {
		r.rest, r.broken = nil, true
	}
}

// Broken says whether something did not fit.
func (r *Reader) Broken() bool { return r.broken }

// Whole says whether all was read and all fitted.
func (r *Reader) Whole() bool { return !r.broken && len(r.rest) == 0 }

// Rest is what was not read.
func (r *Reader) Rest() []byte { return r.rest }

// Version is one byte, and must be the one that is known.
func (r *Reader) Version(known byte) { r.Require(r.Byte() == known && !r.broken) }

// Byte is the next one.
func (r *Reader) Byte() byte {
	if b := r.Bytes(1); b != nil {
		return b[0]
	}
	return 0
}

// Fixed32 is four bytes, little-endian.
func (r *Reader) Fixed32() uint32 {
	if b := r.Bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// Fixed64 is eight bytes, little-endian.
func (r *Reader) Fixed64() uint64 {
	if b := r.Bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Uint is a varint.
func (r *Reader) Uint() uint64 { return r.UpTo(math.MaxUint64) }

// UpTo is a varint of at most most.
func (r *Reader) UpTo(most uint64) uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > most {
		r.Require(false)
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// Int is a zigzag varint.
func (r *Reader) Int() int64 {
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.Require(false)
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// Count of what follows, each of at least so many bytes: what is made for it is bounded by what is there.
func (r *Reader) Count(least int) int {
	n := r.Uint()
	if n > uint64(len(r.rest)/least) {
		r.Require(false)
		return 0
	}
	return int(n)
}

// Bytes are the next n; nil if there are fewer.
func (r *Reader) Bytes(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.Require(false)
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

// Text is at most so many bytes behind their number, as AppendText writes it.
func (r *Reader) Text(most int) []byte {
	n := r.Count(1)
	if n > most {
		r.Require(false)
		return nil
	}
	return r.Bytes(n)
}

// AppendText appends the number of bytes of text, and text.
func AppendText[T string | []byte](dst []byte, text T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}
