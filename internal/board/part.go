package board

import (
	"github.com/klauspost/compress/zstd"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/topk"
)

// part is the merged, closed part of a span, by group, encoded under zstd, which halves it. The one of scope overflow bounds
// each group that is not in it; of a grouped rule the global one is merged from all without bounds.
type part map[rule.Group][]byte

// codec of parts.
type codec struct {
	compress *zstd.Encoder
	expand   *zstd.Decoder
	buffer   []byte
}

func newCodec() codec {
	compress, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic("board: " + err.Error()) // options that cannot be
	}
	expand, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		panic("board: " + err.Error())
	}
	return codec{compress: compress, expand: expand}
}

// addPart adds to sum what p holds of g, or where it holds none, the overflow where records of g may be.
func (b *Board) addPart(sum *topk.Summary, p part, g rule.Group) {
	if own, ok := p[g]; ok {
		b.merge(sum, b.read(own))
	} else if over, ok := p[overflow]; ok && g.Scope == rule.ScopeGroup {
		b.bound(sum, b.read(over))
	}
}

// read is good until the next call of read or decode.
func (b *Board) read(compressed []byte) *topk.Summary {
	expanded, err := b.codec.expand.DecodeAll(compressed, b.codec.buffer[:0])
	if err != nil {
		return nil // cannot be: it was made here
	}
	b.codec.buffer = expanded
	return b.decode(expanded)
}

// write replaces what p holds of g.
func (b *Board) write(p part, g rule.Group, sum *topk.Summary) {
	encoded, err := sum.AppendBinary(b.codec.buffer[:0])
	if err != nil {
		b.stats.Unmerged++
		return
	}
	b.codec.buffer = encoded
	old, known := p[g]
	p[g] = b.codec.compress.EncodeAll(encoded, nil)
	if !known {
		b.stats.Parts++
	}
	b.stats.PartBytes += int64(len(p[g]) - len(old))
}
