package topkprocessor

import (
	"maps"
	"sync"
)

// ruleCounts counts rare things by the name of their rule, which need not be configured any more. The zero value is ready.
type ruleCounts struct {
	mu sync.Mutex
	n  map[string]uint64
}

func (c *ruleCounts) add(rule string, n uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]uint64{}
	}
	c.n[rule] += n
}

func (c *ruleCounts) of(rule string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[rule]
}

// all counts, with 0 for what was not counted of ledgers.
func (c *ruleCounts) all(ledgers []*ledger) map[string]uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := maps.Clone(c.n)
	if all == nil {
		all = make(map[string]uint64, len(ledgers))
	}
	for _, l := range ledgers {
		all[l.definition.Name] += 0
	}
	return all
}
