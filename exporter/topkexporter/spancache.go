package topkexporter

import (
	"sync"

	"github.com/otel-topk/collector/internal/rule"
)

// mostCachedSpans is how many bytes merged spans may take.
const mostCachedSpans = 64 << 20

// spanKey names the list of a group over a span.
type spanKey struct {
	rule  string
	group rule.Group
	span  span
}

// spanCache keeps what was merged, and lets go first what was not asked for the longest.
type spanCache struct {
	most int64 // bytes

	mu    sync.Mutex
	spans map[spanKey]*cachedSpan
	bytes int64
	clock uint64
}

type cachedSpan struct {
	*past
	bytes int64
	used  uint64
}

func (c *spanCache) get(key spanKey) *past {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.spans[key]
	if at == nil {
		return nil
	}
	c.clock++
	at.used = c.clock
	return at.past
}

func (c *spanCache) put(key spanKey, p *past) {
	size := sizeOf(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(key)
	for len(c.spans) > 0 && c.bytes+size > c.most {
		c.drop(c.oldest())
	}
	if c.spans == nil {
		c.spans = map[spanKey]*cachedSpan{}
	}
	c.clock++
	c.spans[key] = &cachedSpan{p, size, c.clock}
	c.bytes += size
}

func (c *spanCache) drop(key spanKey) {
	if at := c.spans[key]; at != nil {
		c.bytes -= at.bytes
		delete(c.spans, key)
	}
}

func (c *spanCache) oldest() (key spanKey) {
	var found *cachedSpan
	for k, at := range c.spans {
		if found == nil || at.used < found.used {
			key, found = k, at
		}
	}
	return key
}

// sizeOf bounds the memory of a merged span.
func sizeOf(p *past) int64 {
	const (
		fixed   = 16 << 10
		perKey  = 96
		perCell = 8
	)
	shape := p.d.Shape
	bytes := int64(fixed + perCell*shape.Width*shape.Depth)
	for key := range p.list.summary.Keys() {
		bytes += perKey + int64(len(key))
	}
	return bytes
}
