package segment

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
	"github.com/zeebo/xxh3"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/field"
)

const (
	magic     = "\xf1otk"
	headBytes = 4 + 4 + 8 + 4 // magic, length, checksum of the payload, checksum of the head and of where it stands

	kindHeader  = 0 // the first frame: signal and shard
	kindRequest = 1
	kindEnd     = 2 // the last frame of a segment that was ended in order

	version = 1

	// MaxRequest is the most that a request may hold as OTLP protobuf, in bytes.
	MaxRequest = 64 << 20
	// maxPayload is a request that zstd makes no smaller, and what stands before it: an hour a record at worst.
	maxPayload = 2 * MaxRequest

	maxShard = 1024 // bytes
)

// Records of a request that lie in one hour.
type Records struct {
	Hour  archive.Hour
	Count int
}

// Request as it is kept.
type Request struct {
	Arrival int64     // Unix nanoseconds
	Hours   []Records // of event time, each hour once, in order; all records of the request
	Body    []byte    // OTLP protobuf
}

// Frame is an encoded request.
type Frame struct{ b []byte }

// Size in bytes.
func (f *Frame) Size() int { return len(f.b) }

// Codec encodes and decodes requests. Safe for concurrent use.
type Codec struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

// NewCodec makes one.
func NewCodec() (*Codec, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxRequest))
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	return &Codec{encoder: encoder, decoder: decoder}, nil
}

// Encode r into f, whose memory is used again.
func (c *Codec) Encode(r *Request, f *Frame) {
	b := append(f.b[:0], make([]byte, headBytes)...)
	b = append(b, kindRequest)
	b = binary.LittleEndian.AppendUint64(b, uint64(r.Arrival))
	b = binary.AppendUvarint(b, uint64(len(r.Hours)))
	for _, h := range r.Hours {
		b = binary.AppendVarint(b, int64(h.Hour))
		b = binary.AppendUvarint(b, uint64(h.Count))
	}
	f.b = c.encoder.EncodeAll(r.Body, b)
	finish(f.b)
}

// decode the payload of a frame of a request; packed shares memory with it.
func decode(payload []byte) (r Request, packed []byte, ok bool) {
	f := field.New(payload)
	f.Version(kindRequest)
	r.Arrival = int64(f.Fixed64())
	for range f.Count(2) {
		r.Hours = append(r.Hours, Records{Hour: archive.Hour(f.Int()), Count: int(f.UpTo(MaxRequest))})
	}
	if f.Broken() {
		return Request{}, nil, false
	}
	return r, f.Rest(), true
}

var errBody = errors.New("the request in a frame does not unpack")

// unpack the body of a request into dst.
func (c *Codec) unpack(packed, dst []byte) ([]byte, error) {
	body, err := c.decoder.DecodeAll(packed, dst[:0])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBody, err)
	}
	return body, nil
}

// appendHeader appends the first frame of a segment, bound to it.
func appendHeader(dst []byte, signal, shard string, seed uint64) []byte {
	b := append(make([]byte, headBytes), kindHeader, version)
	b = field.AppendText(b, signal)
	b = field.AppendText(b, shard)
	finish(b)
	bind(b, seed, 0)
	return append(dst, b...)
}

func decodeHeader(payload []byte) (signal, shard string, ok bool) {
	f := field.New(payload)
	f.Version(kindHeader)
	f.Version(version)
	signal = string(f.Text(maxShard))
	shard = string(f.Text(maxShard))
	return signal, shard, f.Whole()
}

// endFrame of a segment, to stand at offset.
func endFrame(seed uint64, offset int64) []byte {
	b := append(make([]byte, headBytes), kindEnd)
	finish(b)
	bind(b, seed, offset)
	return b
}

// seedOf a segment: its frames are those of no other one, and no sender can know it.
func seedOf(id string) uint64 { return xxh3.HashString(id) }

// finish the head of a frame as far as it does not depend on where it will stand.
func finish(b []byte) {
	copy(b, magic)
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)-headBytes))
	binary.LittleEndian.PutUint64(b[8:], xxh3.Hash(b[headBytes:]))
}

// bind a frame to its segment and offset.
func bind(b []byte, seed uint64, offset int64) {
	binary.LittleEndian.PutUint32(b[16:], headSum(b, seed, offset))
}

func headSum(head []byte, seed uint64, offset int64) uint32 {
	return uint32(xxh3.HashSeed(head[:16], seed+uint64(offset)))
}

// readHead says how long the payload is, if a frame begins with head at offset.
func readHead(head []byte, seed uint64, offset int64) (length int64, ok bool) {
	if string(head[:4]) != magic || binary.LittleEndian.Uint32(head[16:]) != headSum(head, seed, offset) {
		return 0, false
	}
	length = int64(binary.LittleEndian.Uint32(head[4:]))
	return length, length <= maxPayload
}

// intact says whether payload is what head promises.
func intact(head, payload []byte) bool {
	return binary.LittleEndian.Uint64(head[8:]) == xxh3.Hash(payload)
}
