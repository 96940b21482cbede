package segment

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// Kind of what stands in a segment.
type Kind int

// Kinds.
const (
	Whole   Kind = iota // a frame as it was written
	Damaged             // bytes that are none any more, or a frame that does not unpack
	Torn                // the end of a segment that a crash ended: a frame that was not answered
)

// Item of a segment.
type Item struct {
	Kind           Kind
	Offset, Length int64
	Request        // of a whole frame, without its body

	packed []byte
}

// Reader reads a segment from its first frame to its last, whatever is damaged between them. Every Reader of a segment finds the same.
type Reader struct {
	codec *Codec
	file  *os.File
	seed  uint64
	size  int64
	at    int64
	shard string
	head  [headBytes]byte
	buf   []byte // of the payload
	body  []byte
	next  *Item
}

// NewReader opens s. shard is what Shard says where the segment itself does not any more.
func NewReader(s *Segment, codec *Codec, shard string) (*Reader, error) {
	file, err := os.Open(s.path)
	if err != nil {
		return nil, err
	}
	r := &Reader{codec: codec, file: file, seed: seedOf(s.ID), size: s.size, shard: shard}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	// The end frame may follow.
	if end := s.size + headBytes + 1; info.Size() >= end && r.isEnd(s.size) {
		r.size = end
	} else {
		r.size = min(s.size, info.Size())
	}
	return r, nil
}

func (r *Reader) isEnd(offset int64) bool {
	b := make([]byte, headBytes+1)
	_, err := r.file.ReadAt(b, offset)
	return err == nil && bytes.Equal(b, endFrame(r.seed, offset))
}

// Shard that wrote the segment. Known once Next was called.
func (r *Reader) Shard() string { return r.shard }

// Close the reader.
func (r *Reader) Close() error { return r.file.Close() }

// Next item, or io.EOF. It shares memory with the reader until Next is called again.
func (r *Reader) Next() (Item, error) {
	if r.next != nil {
		item := *r.next
		r.next = nil
		return item, nil
	}
	from := r.at
	for {
		item, length, err := r.frame(r.at)
		if err != nil {
			return Item{}, err
		}
		switch {
		case item != nil:
			damage := r.at - from
			r.at += length
			if item.Length == 0 { // the header, or the end
				if damage == 0 {
					from = r.at
					continue
				}
				return Item{Kind: Damaged, Offset: from, Length: damage}, nil
			}
			if damage > 0 {
				r.next = item
				return Item{Kind: Damaged, Offset: from, Length: damage}, nil
			}
			return *item, nil
		case r.at >= r.size:
			if from >= r.size {
				return Item{}, io.EOF
			}
			r.at = r.size
			return Item{Kind: Torn, Offset: from, Length: r.size - from}, nil
		default:
			if r.at, err = r.seek(r.at + max(length, 1)); err != nil {
				return Item{}, err
			}
		}
	}
}

// frame at offset, and how many bytes it takes. No item: there is none; where its head is one all the same, length is said.
func (r *Reader) frame(offset int64) (item *Item, length int64, err error) {
	if offset+headBytes > r.size {
		return nil, 0, nil
	}
	if _, err := r.file.ReadAt(r.head[:], offset); err != nil {
		return nil, 0, err
	}
	n, ok := readHead(r.head[:], r.seed, offset)
	if !ok || offset+headBytes+n > r.size {
		return nil, 0, nil
	}
	if int64(cap(r.buf)) < n {
		r.buf = make([]byte, n)
	}
	payload := r.buf[:n]
	if _, err := r.file.ReadAt(payload, offset+headBytes); err != nil {
		return nil, 0, err
	}
	length = headBytes + n
	if !intact(r.head[:], payload) || n == 0 {
		return nil, length, nil
	}
	switch payload[0] {
	case kindHeader:
		if _, shard, ok := decodeHeader(payload); ok {
			r.shard = shard
			return &Item{}, length, nil
		}
	case kindEnd:
		return &Item{}, length, nil
	case kindRequest:
		if request, packed, ok := decode(payload); ok {
			return &Item{Kind: Whole, Offset: offset, Length: length, Request: request, packed: packed}, length, nil
		}
	}
	return nil, length, nil
}

// seek the next place from offset at which a frame may begin, or the end.
func (r *Reader) seek(offset int64) (int64, error) {
	buf := make([]byte, 64<<10)
	for offset < r.size {
		n, err := r.file.ReadAt(buf[:min(int64(len(buf)), r.size-offset)], offset)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if i := bytes.Index(buf[:n], []byte(magic)); i >= 0 {
			return offset + int64(i), nil
		}
		if n < len(magic) || offset+int64(n) >= r.size {
			break
		}
		offset += int64(n - len(magic) + 1)
	}
	return r.size, nil
}

// Body of a whole frame: the request as OTLP protobuf, good until Next or Body is called again.
func (r *Reader) Body(item Item) ([]byte, error) {
	body, err := r.codec.unpack(item.packed, r.body)
	if err != nil {
		return nil, err
	}
	r.body = body
	return body, nil
}

// Bytes of an item as they stand in the file, for who sets them aside.
func (r *Reader) Bytes(item Item) io.Reader {
	return io.NewSectionReader(r.file, item.Offset, item.Length)
}
