package seal

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/zeebo/xxh3"
)

var (
	// ErrUnsealed is of a file that was never sealed.
	ErrUnsealed = errors.New("no sealed Parquet file")
	// ErrChanged is of one that is not as it was written.
	ErrChanged = errors.New("not what was written")
)

const (
	// firstRead is what is read from the end of a file at once.
	firstRead = 64 << 10
	// maxTail is the longest page index and footer that are read.
	maxTail = 512 << 20
)

// File is a sealed file: what it reads is what was written. Safe for concurrent use.
type File struct {
	in   io.ReaderAt
	size int64
	end  int64 // of the row groups
	sums []byte
	tail []byte // from end on
}

// Open reads all of a file that follows its row groups, and holds it against the seal. Errors are ErrUnsealed, ErrChanged, or those
// of reading.
func Open(in io.ReaderAt, size int64) (*File, error) {
	if size < int64(len(magic)+endBytes) {
		return nil, fmt.Errorf("%w: %d bytes", ErrChanged, size)
	}
	last := make([]byte, min(size, firstRead))
	if err := readFull(in, last, size-int64(len(last))); err != nil {
		return nil, err
	}
	if string(last[len(last)-len(magic):]) != magic {
		var head [len(magic)]byte
		if err := readFull(in, head[:], 0); err != nil {
			return nil, err
		}
		if string(head[:]) == magic {
			return nil, fmt.Errorf("%w: the end is missing or changed", ErrChanged)
		}
		return nil, ErrUnsealed
	}
	n := int64(binary.LittleEndian.Uint32(last[len(last)-endBytes:])) + int64(endBytes)
	if n > min(size-int64(len(magic)), maxTail) {
		return nil, fmt.Errorf("%w: a footer of %d bytes in a file of %d", ErrChanged, n, size)
	}
	footer, err := lastOf(in, size, last, n)
	if err != nil {
		return nil, err
	}
	f := &File{in: in, size: size}
	at := valueOf(footer, SealKey, 2*digits)
	if at < 0 {
		if bytes.Contains(last, []byte(SealKey)) || bytes.Contains(last, []byte(BlocksKey)) {
			return nil, fmt.Errorf("%w: the footer", ErrChanged)
		}
		return nil, ErrUnsealed
	}
	f.end, err = strconv.ParseInt(string(footer[at:at+digits]), 16, 64)
	if err != nil || f.end < 0 || f.end > size-n || size-f.end > maxTail {
		return nil, fmt.Errorf("%w: the footer", ErrChanged)
	}
	if f.tail, err = lastOf(in, size, footer, size-f.end); err != nil {
		return nil, err
	}
	if !f.sealed() || !f.readSums() {
		return nil, fmt.Errorf("%w: the footer or the page index", ErrChanged)
	}
	return f, nil
}

// lastOf is the last n bytes of a file of which known are the last already.
func lastOf(in io.ReaderAt, size int64, known []byte, n int64) ([]byte, error) {
	if n <= int64(len(known)) {
		return known[int64(len(known))-n:], nil
	}
	all := make([]byte, n)
	rest := all[:n-int64(len(known))]
	copy(all[len(rest):], known)
	return all, readFull(in, rest, size-n)
}

// readFull reads all of p.
func readFull(in io.ReaderAt, p []byte, offset int64) error {
	if n, err := in.ReadAt(p, offset); n < len(p) {
		if err == nil || errors.Is(err, io.EOF) {
			return fmt.Errorf("%w: it ends between byte %d and %d", ErrChanged, offset, offset+int64(len(p)))
		}
		return err
	}
	return nil
}

// sealed says whether the tail holds its own seal.
func (f *File) sealed() bool {
	at := valueOf(f.tail, SealKey, 2*digits)
	if at < 0 {
		return false
	}
	seal := f.tail[at+digits : at+2*digits]
	want := string(seal)
	copy(seal, noHash)
	found := fmt.Sprintf("%016x", xxh3.Hash(f.tail))
	copy(seal, want)
	return found == want
}

func (f *File) readSums() bool {
	blocks := int((f.end + BlockBytes - 1) / BlockBytes)
	n := base64.StdEncoding.EncodedLen(blocks * sumBytes)
	at := valueOf(f.tail, BlocksKey, n)
	if at < 0 {
		return false
	}
	sums, err := base64.StdEncoding.AppendDecode(nil, f.tail[at:at+n])
	f.sums = sums
	return err == nil && len(sums) == blocks*sumBytes
}

// Size of the file in bytes.
func (f *File) Size() int64 { return f.size }

// End of the row groups: where the page index begins.
func (f *File) End() int64 { return f.end }

// Grow is the range of blocks around one that lies before End.
func (f *File) Grow(from, to int64) (int64, int64) {
	return from / BlockBytes * BlockBytes, min((to+BlockBytes-1)/BlockBytes*BlockBytes, f.end)
}

// ReadBlocks fills p from the offset from, in one read; both come of Grow. The error names bytes that are not what was written.
func (f *File) ReadBlocks(p []byte, from int64) error {
	if from%BlockBytes != 0 || from < 0 || from+int64(len(p)) > f.end || len(p)%BlockBytes != 0 && from+int64(len(p)) != f.end {
		return fmt.Errorf("seal: bytes %d to %d are no blocks", from, from+int64(len(p)))
	}
	if err := readFull(f.in, p, from); err != nil {
		return err
	}
	for len(p) > 0 {
		block := p[:min(len(p), BlockBytes)]
		if xxh3.Hash(block) != binary.BigEndian.Uint64(f.sums[from/BlockBytes*sumBytes:]) {
			return fmt.Errorf("%w: bytes %d to %d", ErrChanged, from, from+int64(len(block)))
		}
		p, from = p[len(block):], from+int64(len(block))
	}
	return nil
}

// ReadAt is of io.ReaderAt. It reads whole blocks for whatever is asked for before End; the rest is in memory.
func (f *File) ReadAt(p []byte, offset int64) (n int, err error) {
	if offset < 0 {
		return 0, fmt.Errorf("seal: offset %d", offset)
	}
	if offset < f.end {
		from, to := f.Grow(offset, min(offset+int64(len(p)), f.end))
		blocks := make([]byte, to-from)
		if err := f.ReadBlocks(blocks, from); err != nil {
			return 0, err
		}
		n = copy(p, blocks[offset-from:])
	}
	if n < len(p) && offset+int64(n) < f.size {
		n += copy(p[n:], f.tail[offset+int64(n)-f.end:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
