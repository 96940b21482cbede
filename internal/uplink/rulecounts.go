package uplink

import (
	"maps"
	"sync"
)

// RuleCounts counts rare things by the name of their rule, which need not be configured any more. The zero value is ready.
type RuleCounts struct {
	mu sync.Mutex
	n  map[string]uint64
}

func (c *RuleCounts) add(rule string, n uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]uint64{}
	}
	c.n[rule] += n
}

// Of one rule.
func (c *RuleCounts) Of(rule string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[rule]
}

// All counts, with 0 for those of rules of which nothing was counted.
func (c *RuleCounts) All(rules []string) map[string]uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := maps.Clone(c.n)
	if all == nil {
		all = make(map[string]uint64, len(rules))
	}
	for _, name := range rules {
		all[name] += 0
	}
	return all
}
