package eventsreceiver

import (
	"context"
	"net/http"
	"slices"
	"sync/atomic"
)

// What a request takes of `memory`, in bytes. All are upper bounds, as a hostile client would have it; TestMemoryStaysInItsBound holds them.
const (
	requestBytes = 64 << 10 // its goroutine, headers and buffers, and what gunzips it
	byteBytes    = 4        // a byte of its body: the decoder's buffer while that grows, and the copies of texts
	eventBytes   = 256      // an event that becomes a record
	valueBytes   = 96       // a value of an event, while the list that it is in grows
)

// What a connection takes beside its requests, in bytes.
const (
	headerBytes   = 16 << 10 // the most of a request's headers
	streams       = 4        // requests at a time over HTTP/2
	streamBuffer  = 64 << 10 // of all bodies over HTTP/2 that nobody has read yet
	plainBytes    = 64 << 10
	overTLSBytes  = plainBytes + 64<<10 + streamBuffer + streams*2*headerBytes
	lz4Bytes      = 16 << 20 // two blocks of the largest size, and what decoding takes
	snappyBytes   = 1 << 20  // what unpacks frames
	zstdLeast     = 8 << 20  // the window that a body may ask for, if no body may be larger
	zstdInWindows = 3        // what unpacks takes, in windows
)

// unpacking is how many bytes it takes at most to unpack a body under a Content-Encoding, beyond requestBytes.
func (c *Config) unpacking(encoding string) int64 {
	body := c.ServerConfig.MaxRequestBodySize
	if !c.accepts(encoding) {
		return 0
	}
	switch encoding {
	case "zstd":
		return zstdInWindows * max(zstdLeast, body)
	case "lz4":
		return lz4Bytes
	case "snappy", "x-snappy-framed": // a block is unpacked as a whole, after it was read as a whole
		return 4*body + snappyBytes
	}
	return 0
}

// leastMemory is what one request with a body of the largest size needs, and as much again for its records.
func (c *Config) leastMemory() int64 {
	most := int64(0)
	for _, encoding := range c.ServerConfig.CompressionAlgorithms {
		most = max(most, c.unpacking(encoding))
	}
	return 2*byteBytes*c.ServerConfig.MaxRequestBodySize + most
}

// memoryBound is how many bytes the receiver takes at most.
func (c *Config) memoryBound() int64 {
	connection := int64(plainBytes)
	if c.ServerConfig.TLS.HasValue() {
		connection = overTLSBytes
	}
	return c.Memory + int64(c.MaxConnections)*connection
}

// budget is the memory of all requests that have no answer yet.
type budget struct {
	most int64
	held atomic.Int64
}

// share of one request in the budget.
type share struct {
	of *budget
	n  int64
}

// take n bytes more. What does not fit is refused: for good if the request would not fit alone.
func (s *share) take(n int64) *refusal {
	s.n += n
	switch held := s.of.held.Add(n); {
	case held <= s.of.most:
		return nil
	case s.n > s.of.most:
		return refusef(http.StatusRequestEntityTooLarge, reasonTooLarge,
			"the request takes more memory than the %d bytes that `memory` allows; send fewer events in one", s.of.most)
	}
	return busy("other requests take all memory that `memory` allows")
}

func (s *share) release() { s.of.held.Add(-s.n) }

// shareKey finds the share of a request in its context.
type shareKey struct{}

func shareOf(ctx context.Context) *share { return ctx.Value(shareKey{}).(*share) }

// accepts says whether bodies may have a Content-Encoding.
func (c *Config) accepts(encoding string) bool {
	allowed := c.ServerConfig.CompressionAlgorithms
	return encoding == "" || slices.Contains(allowed, encoding) || encoding == "identity" && slices.Contains(allowed, "")
}
