package topkexporter

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otel-topk/collector/exporter/topkexporter/internal/exact"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
)

// defaultK is the length of a list where none is asked for.
const defaultK = 10

// Parameters of the calls that name a list.
var (
	listParameters  = []string{"at", "from", "group", "region", "rule", "scope", "to", "window"}
	trendParameters = []string{"at", "format", "from", "group", "k", "region", "rule", "scope", "to", "window"}
	countParameters = []string{"at", "from", "group", "key", "region", "rule", "scope", "to", "window"}
)

// parameters parses a query in which each of the allowed names may stand once.
func parameters(raw string, allowed []string) (url.Values, error) {
	q, err := url.ParseQuery(raw)
	if err != nil {
		return nil, badRequest("query: %v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(q)) {
		switch {
		case len(allowed) == 0:
			return nil, badRequest("unknown parameter %q; this path takes none", name)
		case !slices.Contains(allowed, name):
			return nil, badRequest("unknown parameter %q; allowed: %s", name, strings.Join(allowed, ", "))
		case len(q[name]) > 1:
			return nil, badRequest("parameter %s is given %d times; once is allowed", name, len(q[name]))
		}
	}
	return q, nil
}

// selection is the list that a query names.
type selection struct {
	rule   *ruleLists // nil: none was named and none is known
	window string     // "": no window is known
	group  rule.Group
	list   *list // nil: none was published

	exact   *exact.Question // that list answers, and any key may be counted by; nil: it is approximate
	passing bool            // list is not kept

	// Where list is nil and a span of the past was asked for.
	start   time.Time
	reasons []string
}

// choose finds the list that q names: the only rule and the shortest window where q names none.
func (c *catalog) choose(q url.Values) (selection, error) {
	group, err := groupOf(q)
	if err != nil {
		return selection{}, err
	}
	s := selection{group: group}
	var asked time.Duration
	if q.Has("window") {
		if asked, err = window.Parse(q.Get("window")); err != nil {
			return selection{}, badRequest("window: %q is no window such as 5m, 1h or 24h", q.Get("window"))
		}
		s.window = window.Name(asked)
	}
	if s.rule, err = c.chooseRule(q); s.rule == nil {
		return s, err
	}
	return s, s.chooseList(asked)
}

// chooseRule is nil where nothing was published yet: then any name may be a rule's.
func (c *catalog) chooseRule(q url.Values) (*ruleLists, error) {
	switch {
	case len(c.names) == 0:
		return nil, nil
	case q.Has("rule"):
		if r := c.rules[q.Get("rule")]; r != nil {
			return r, nil
		}
		return nil, unknownRule(q.Get("rule"), c.names)
	case len(c.names) > 1:
		return nil, severalRules(c.names)
	}
	return c.rules[c.names[0]], nil
}

func unknownRule(name string, known []string) error {
	return notFound("rule: %q is not known; known: %s; a rule is known once a record of it was counted", name, named(known))
}

func severalRules(known []string) error {
	return badRequest("rule: several are counted, name one of: %s", named(known))
}

func notGrouped(name string) error {
	return notFound("group: rule %q has no group_by, so only its global list exists", name)
}

// chooseList finds the list of s.rule; asked is zero for the shortest window.
func (s *selection) chooseList(asked time.Duration) error {
	r := s.rule
	name := r.definition.Name
	if asked == 0 {
		asked = r.windows[0]
		s.window = window.Name(asked)
	} else if !slices.Contains(r.windows, asked) {
		return notFound("window: rule %q has no window %s; it has: %s", name, s.window, strings.Join(windowNames(r.windows), ", "))
	}
	if s.group.Scope != rule.ScopeGlobal && !r.definition.Grouped() {
		return notGrouped(name)
	}
	if s.group.Scope == rule.ScopeGroup {
		s.group = r.keyRule().GroupOf(s.group.Name)
	}
	s.list = r.lists[listID{asked, s.group}]
	if _, known := slices.BinarySearch(r.groups, s.group.Name); s.group.Scope == rule.ScopeGroup && !known {
		hint := ""
		if r.lists[listID{asked, rule.Group{Scope: rule.ScopeOverflow}}] != nil {
			hint = "; groups beyond max_groups share the list of scope=overflow"
		}
		return notFound("group: rule %q has no group %q; it has: %s%s", name, s.group.Name, named(r.groups), hint)
	}
	return nil
}

// groupOf reads group or region, and scope.
func groupOf(q url.Values) (rule.Group, error) {
	key := "group"
	switch {
	case q.Has("group") && q.Has("region"):
		return rule.Group{}, badRequest("group and region are two names of one parameter; give one")
	case q.Has("region"):
		key = "region"
	}
	scope := rule.ScopeGlobal
	if q.Has(key) {
		scope = rule.ScopeGroup
	}
	if q.Has("scope") {
		asked, err := rule.ParseScope(q.Get("scope"))
		if err != nil {
			return rule.Group{}, badRequest("scope: %q is not known; allowed: global, group, missing, overflow", q.Get("scope"))
		}
		if (asked == rule.ScopeGroup) != q.Has(key) {
			return rule.Group{}, badRequest("scope: %s does not go with this query; a group is named by group=, and only by it", asked)
		}
		scope = asked
	}
	return rule.Group{Scope: scope, Name: q.Get(key)}, nil
}

// length reads k: 1 to most.
func length(q url.Values, most int) (int, error) {
	if !q.Has("k") {
		return min(defaultK, most), nil
	}
	k, err := strconv.Atoi(q.Get("k"))
	if err != nil || k < 1 || k > most {
		return 0, badRequest("k: %q is not allowed; allowed: whole numbers from 1 to %d", q.Get("k"), most)
	}
	return k, nil
}

func windowNames(windows []time.Duration) []string {
	names := make([]string, len(windows))
	for i, w := range windows {
		names[i] = window.Name(w)
	}
	return names
}
