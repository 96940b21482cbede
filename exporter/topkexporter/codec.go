package topkexporter

import (
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/otel-topk/collector/internal/wire"
)

// mostExpanded is the most that a stored value holds once it is expanded: a list with its window summary.
const mostExpanded = 2 * wire.MaxBodyBytes

var (
	compressor = sure(zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true)))
	expander   = sure(zstd.NewReader(nil, zstd.WithDecoderMaxMemory(mostExpanded)))
)

func sure[T any](v T, err error) T {
	if err != nil {
		panic("topkexporter: " + err.Error()) // options that cannot be
	}
	return v
}

func compress(b []byte) []byte { return compressor.EncodeAll(b, make([]byte, 0, len(b)/2)) }

// expand appends to buffer what compress was given.
func expand(b, buffer []byte) ([]byte, error) {
	expanded, err := expander.DecodeAll(b, buffer)
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return nil, fmt.Errorf("more than %d bytes once it is expanded", mostExpanded)
	}
	return expanded, err
}
