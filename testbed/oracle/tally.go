// Package oracle counts exactly and holds served lists against the exact counts.
package oracle

import (
	"cmp"
	"slices"
	"time"
)

// Group names what a list covers, as the API does: a scope, and a name in scope "group".
type Group struct{ Scope, Name string }

// The groups without a name that the tests ask for.
var (
	Global  = Group{Scope: "global"}
	Missing = Group{Scope: "missing"}
)

// Named is the group called name.
func Named(name string) Group { return Group{Scope: "group", Name: name} }

// Tally counts exactly, by minute and group. The zero value is empty.
type Tally struct {
	minutes map[int64]map[Group]*Counts
	newest  int64
}

// Add counts weight of key at time ns (Unix nanoseconds) for the global list and, if it is another one, for group.
func (t *Tally) Add(ns int64, group Group, key string, weight uint64) {
	if t.minutes == nil {
		t.minutes = make(map[int64]map[Group]*Counts)
	}
	minute := ns / int64(time.Minute)
	groups := t.minutes[minute]
	if groups == nil {
		groups = make(map[Group]*Counts)
		t.minutes[minute] = groups
	}
	add := func(g Group) {
		counts := groups[g]
		if counts == nil {
			counts = NewCounts()
			groups[g] = counts
		}
		counts.Add(key, weight)
	}
	add(Global)
	if group != Global {
		add(group)
	}
	t.newest = max(t.newest, ns)
}

// Newest is the time of the newest record counted.
func (t *Tally) Newest() time.Time { return time.Unix(0, t.newest).UTC() }

// Window is what was counted of group in whole minutes from start up to and with that of end.
func (t *Tally) Window(start, end time.Time, group Group) *Counts {
	sum := NewCounts()
	first, last := start.UnixNano()/int64(time.Minute), end.UnixNano()/int64(time.Minute)
	for minute, groups := range t.minutes {
		if counts := groups[group]; counts != nil && first <= minute && minute <= last {
			sum.Merge(counts)
		}
	}
	return sum
}

// Groups lists the groups that have records, in any order.
func (t *Tally) Groups() []Group {
	seen := make(map[Group]bool)
	for _, groups := range t.minutes {
		for g := range groups {
			seen[g] = true
		}
	}
	list := make([]Group, 0, len(seen))
	for g := range seen {
		list = append(list, g)
	}
	return list
}

// Counts are exact weights by key.
type Counts struct {
	Weights map[string]uint64
	Total   uint64
	Records uint64
}

// NewCounts has counted nothing.
func NewCounts() *Counts { return &Counts{Weights: make(map[string]uint64)} }

// Add counts one record.
func (c *Counts) Add(key string, weight uint64) {
	c.Weights[key] += weight
	c.Total += weight
	c.Records++
}

// Merge adds o to c.
func (c *Counts) Merge(o *Counts) {
	for key, weight := range o.Weights {
		c.Weights[key] += weight
	}
	c.Total += o.Total
	c.Records += o.Records
}

// Count is one key's exact weight.
type Count struct {
	Key    string
	Weight uint64
}

// Ranked lists all keys with weight by weight descending, then by key bytes.
func (c *Counts) Ranked() []Count {
	list := make([]Count, 0, len(c.Weights))
	for key, weight := range c.Weights {
		if weight > 0 {
			list = append(list, Count{key, weight})
		}
	}
	slices.SortFunc(list, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Key, b.Key))
	})
	return list
}
