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
	lists map[listID]*list
	keyed *rule.Definition // with the seed, as the newest window summary has it; nil: none came

	// What index works out of lists.
	definition *rule.Definition // of the list that came last
	newest     time.Time        // as_of
	windows    []time.Duration  // ascending
	scopes     []rule.Scope     // ascending
	groups     []string         // sorted
}

func (r *ruleLists) clone() *ruleLists {
	return &ruleLists{lists: maps.Clone(r.lists), keyed: r.keyed}
}

// keyRule is the definition that cuts long keys as they were cut in counting, if it is known.
func (r *ruleLists) keyRule() *rule.Definition {
	if r.keyed != nil {
		return r.keyed
	}
	return r.definition
}

func (r *ruleLists) index() {
	windows, scopes, groups := map[time.Duration]bool{}, map[rule.Scope]bool{}, map[string]bool{}
	var last *list
	for id, l := range r.lists {
		windows[id.window] = true
		scopes[id.group.Scope] = true
		if id.group.Scope == rule.ScopeGroup {
			groups[id.group.Name] = true
		}
		if l.AsOf.After(r.newest) {
			r.newest = l.AsOf
		}
		if last == nil || l.cameAfter(last) {
			last = l
		}
	}
	r.definition = last.Rule
	r.windows = slices.Sorted(maps.Keys(windows))
	r.scopes = slices.Sorted(maps.Keys(scopes))
	r.groups = slices.Sorted(maps.Keys(groups))
}
