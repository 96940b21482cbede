package topkexporter

import (
	"maps"
	"slices"
	"time"

	"github.com/otel-topk/collector/internal/rule"
)

// listID names a list within its rule.
type listID struct {
	window time.Duration
	group  rule.Group
}

// catalog is all that is served at one moment. Nothing of it changes once it is published, save its cache of answers.
type catalog struct {
	rules   map[string]*ruleLists
	names   []string // of the rules, sorted
	lists   int
	answers answerCache
}

// ruleLists holds the lists of one rule.
type ruleLists struct {
	definition *rule.Definition // as the newest snapshot has it
	keyed      *rule.Definition // with the seed, as the newest window summary has it; nil: none came
	newest     time.Time        // as_of of definition
	lists      map[listID]*list
	windows    []time.Duration // ascending
	scopes     []rule.Scope    // ascending
	groups     []string        // sorted
}

func (r *ruleLists) clone() *ruleLists {
	c := *r
	c.lists = maps.Clone(r.lists)
	return &c
}

// keyRule is the definition that cuts long keys as they were cut in counting, if it is known.
func (r *ruleLists) keyRule() *rule.Definition {
	if r.keyed != nil {
		return r.keyed
	}
	return r.definition
}

// index works out windows, scopes and groups anew.
func (r *ruleLists) index() {
	windows, scopes, groups := map[time.Duration]bool{}, map[rule.Scope]bool{}, map[string]bool{}
	for id := range r.lists {
		windows[id.window] = true
		scopes[id.group.Scope] = true
		if id.group.Scope == rule.ScopeGroup {
			groups[id.group.Name] = true
		}
	}
	r.windows = slices.Sorted(maps.Keys(windows))
	r.scopes = slices.Sorted(maps.Keys(scopes))
	r.groups = slices.Sorted(maps.Keys(groups))
}

// inOrder visits every list: rules by name, windows from the shortest, then scope and group.
func (c *catalog) inOrder(visit func(*list)) {
	for _, name := range c.names {
		lists := c.rules[name].lists
		ids := slices.SortedFunc(maps.Keys(lists), compareIDs)
		for _, id := range ids {
			visit(lists[id])
		}
	}
}
