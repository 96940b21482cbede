package board

import (
	"unique"

	"github.com/klauspost/compress/zstd"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/topk"
)

// part is the merged, closed part of a span, by group, encoded under zstd, which halves it. The one of scope overflow bounds
// each group that is not in it; of a grouped rule the global one is merged from all without bounds.
type part map[tag]stored

// stored is one group of a part.
type stored struct {
	size int   // of its value
	held *held // nil: it lies on the shelf only
}

var overflowTag = unique.Make(overflow)

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
	expand, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxSummaryBytes))
	if err != nil {
		panic("board: " + err.Error())
	}
	return codec{compress: compress, expand: expand}
}

// addPart adds to sum what is folded of g, or where there is none, the overflow where records of g may be.
func (b *Board) addPart(sum *topk.Summary, c *counted, at window.Part, g rule.Group) {
	p := c.parts[at]
	if p == nil {
		return
	}
	if t := unique.Make(g); p.holds(t) {
		b.mergePart(sum, c, at, t)
	} else if g.Scope == rule.ScopeGroup && p.holds(overflowTag) {
		if over := b.read(c, at, overflowTag); over != nil {
			b.bound(sum, over)
		}
	}
}

func (b *Board) mergePart(sum *topk.Summary, c *counted, at window.Part, g tag) {
	if own := b.read(c, at, g); own != nil {
		b.merge(c, sum, own)
	}
}

func (p part) holds(g tag) bool {
	_, ok := p[g]
	return ok
}

// read is good until the next call of read or decode; nil: it was lost, and the lists say so.
func (b *Board) read(c *counted, at window.Part, g tag) *topk.Summary {
	kind, name, compressed, ok := readPart(b.load(c, at, g))
	if ok && kind == partLost {
		b.losses++
		return nil
	}
	if ok && string(name) == longNameOf(g.Value()) {
		expanded, err := b.codec.expand.DecodeAll(compressed, b.codec.buffer[:0])
		if err == nil {
			b.codec.buffer = expanded
			if sum := b.decode(expanded); sum != nil && sum.Shape() == c.rule.Shape {
				return sum
			}
		}
	}
	return b.mend(c, at, g)
}

// load is a part's value; nil: it cannot be read.
func (b *Board) load(c *counted, at window.Part, g tag) []byte {
	p := c.parts[at]
	if s := p[g]; s.held != nil {
		b.drawer.use(s.held)
		return s.held.value
	}
	if b.cfg.Shelf == nil {
		return nil
	}
	value, err := b.cfg.Shelf.Get(partKey(c.id, at, g.Value()))
	if err != nil || value == nil {
		return nil
	}
	b.drawer.put(p, g, value)
	return value
}

// mend a part that cannot be read: it is merged again from the smaller ones that cover it, or lost.
func (b *Board) mend(c *counted, at window.Part, g tag) *topk.Summary {
	b.stats.Unreadable++
	sum := b.remake(c, at, g.Value())
	if sum != nil {
		b.write(c, at, g, sum)
		return sum
	}
	b.losses++
	b.put(c, at, g, partHead(nil, partLost, g.Value()))
	b.damage(c.under, at.Start)
	return nil
}

// remake merges what a part held from smaller ones; nil: they are not all there.
func (b *Board) remake(c *counted, at window.Part, g rule.Group) *topk.Summary {
	size := window.OneMinute
	if at.Size == window.OneHour {
		size = window.FiveMinutes
	}
	if at.Size == size || !b.kept(c, window.Part{Start: at.Start, Size: size}) {
		return nil
	}
	sum, before := c.empty(g), b.losses
	for m := at.Start; m < at.End(); m += window.Minute(size) {
		b.addPart(sum, c, window.Part{Start: m, Size: size}, g)
	}
	if b.losses != before {
		return nil
	}
	return sum
}

// write replaces what a part holds of g.
func (b *Board) write(c *counted, at window.Part, g tag, sum *topk.Summary) {
	if value := b.encode(g.Value(), sum); value != nil {
		b.put(c, at, g, value)
	}
}

// encode the value of a part; nil: it cannot be, which is counted.
func (b *Board) encode(g rule.Group, sum *topk.Summary) []byte {
	encoded, err := sum.AppendBinary(b.codec.buffer[:0])
	if err != nil {
		b.stats.Unmerged++
		return nil
	}
	b.codec.buffer = encoded
	return b.codec.compress.EncodeAll(encoded, partHead(nil, partSummary, g))
}

func (b *Board) put(c *counted, at window.Part, g tag, value []byte) {
	p := c.parts[at]
	if p == nil {
		if len(c.parts) == 0 || at.Start < c.oldest {
			c.oldest = at.Start
		}
		p = part{}
		c.parts[at] = p
	}
	s, known := p[g]
	if !known {
		b.stats.Parts++
		b.indexBytes += indexBytes(g)
	}
	b.stats.PartBytes += int64(len(value) - s.size)
	s.size = len(value)
	p[g] = s
	b.drawer.put(p, g, value)
	if b.cfg.Shelf != nil {
		b.cfg.Shelf.Set(partKey(c.id, at, g.Value()), value)
	}
}

// indexBytes of a part in the index.
func indexBytes(g tag) int64 { return partIndexBytes + int64(len(g.Value().Name)) }

func (b *Board) discard(c *counted, at window.Part) {
	for g, s := range c.parts[at] {
		b.drawer.take(s)
		b.stats.Parts--
		b.indexBytes -= indexBytes(g)
		b.stats.PartBytes -= int64(s.size)
		if b.cfg.Shelf != nil {
			b.cfg.Shelf.Delete(partKey(c.id, at, g.Value()))
		}
	}
	delete(c.parts, at)
}
