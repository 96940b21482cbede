// Package seal notices any changed byte of a Parquet file that it sealed, also where Parquet has no checksum: in headers of pages,
// in the page index and in the footer.
//
// Two pairs in the footer's key-value metadata make the seal. otel-topk.blocks holds the xxh3 hashes (64 bits, big endian, in base64)
// of the blocks of 64 KiB from the beginning of the file to the end of its last row group. otel-topk.seal holds, in hexadecimal, where
// that is, and the hash of all that follows, in which its own 16 digits are hyphens.
package seal

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/zeebo/xxh3"
)

const (
	// BlockBytes is what one hash covers.
	BlockBytes = 64 << 10

	// BlocksKey is one key of the seal. No other key or value may hold it.
	BlocksKey = "otel-topk.blocks"
	// SealKey is the other one.
	SealKey = "otel-topk.seal"

	digits    = 16
	noHash    = "----------------"
	magic     = "PAR1"
	endBytes  = 4 + len(magic) // the length of the footer, and the magic
	sumBytes  = 8
	stringTag = "\x18" // of Thrift's compact protocol: a text, one field further
)

// Writer seals what is written through it: the file up to its last row group, BeginTail, and then the rest.
type Writer struct {
	out    io.Writer
	hash   *xxh3.Hasher
	offset int64
	filled int // bytes in the open block
	sums   []byte
	tail   *bytes.Buffer // from BeginTail on
}

// NewWriter seals a file that goes to w.
func NewWriter(w io.Writer) *Writer { return &Writer{out: w, hash: xxh3.New()} }

// Write is of io.Writer. What follows BeginTail is held back until Finish.
func (w *Writer) Write(p []byte) (int, error) {
	if w.tail != nil {
		return w.tail.Write(p)
	}
	n, err := w.out.Write(p)
	w.offset += int64(n)
	for rest := p[:n]; len(rest) > 0; {
		part := rest[:min(len(rest), BlockBytes-w.filled)]
		rest = rest[len(part):]
		_, _ = w.hash.Write(part)
		if w.filled += len(part); w.filled == BlockBytes {
			w.endBlock()
		}
	}
	return n, err
}

func (w *Writer) endBlock() {
	w.sums = binary.BigEndian.AppendUint64(w.sums, w.hash.Sum64())
	w.hash.Reset()
	w.filled = 0
}

// BeginTail is called when the last row group was written, and returns the pairs that the footer must have, as keys and values.
func (w *Writer) BeginTail() [2][2]string {
	if w.filled > 0 {
		w.endBlock()
	}
	w.tail = new(bytes.Buffer)
	return [2][2]string{
		{BlocksKey, base64.StdEncoding.EncodeToString(w.sums)},
		{SealKey, fmt.Sprintf("%016x", w.offset) + noHash},
	}
}

// Finish writes what was held back, with the seal in it.
func (w *Writer) Finish() error {
	if w.tail == nil {
		return errors.New("seal: BeginTail was not called")
	}
	tail := w.tail.Bytes()
	at := valueOf(tail, SealKey, 2*digits)
	if at < 0 {
		return fmt.Errorf("seal: %s is not in the footer", SealKey)
	}
	copy(tail[at+digits:], fmt.Sprintf("%016x", xxh3.Hash(tail)))
	_, err := w.out.Write(tail)
	return err
}

// valueOf is where the value of length n of a key begins in a footer; -1: nowhere.
func valueOf(footer []byte, key string, n int) int {
	before := key + stringTag + string(binary.AppendUvarint(nil, uint64(n)))
	at := bytes.LastIndex(footer, []byte(before))
	if at < 0 || at+len(before)+n > len(footer) {
		return -1
	}
	return at + len(before)
}
