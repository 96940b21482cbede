package topkexporter

import (
	"context"
	"maps"
	"net/url"
	"slices"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
)

// choose finds the list that q names: of now, or of the past.
func (h *handler) choose(ctx context.Context, c *catalog, q url.Values) (selection, error) {
	s, past, err := spanOf(q, h.longestSpan)
	switch {
	case err != nil:
		return selection{}, err
	case past:
		return h.choosePast(ctx, c, q, s)
	}
	return c.choose(q)
}

// choosePast finds or makes the list that q names of a span of the past.
func (h *handler) choosePast(ctx context.Context, c *catalog, q url.Values, at span) (selection, error) {
	group, err := groupOf(q)
	if err != nil {
		return selection{}, err
	}
	s := selection{window: window.Name(at.length()), group: group}
	if s.rule, err = h.choosePastRule(c, q); s.rule == nil {
		return s, err
	}
	name := s.rule.definition.Name
	if group.Scope != rule.ScopeGlobal && !s.rule.definition.Grouped() {
		return s, notGrouped(name)
	}
	found, err := h.store.history.list(ctx, name, group, at, h.now())
	if err != nil {
		return s, err
	}
	s.start, s.reasons, s.list = at.start(), found.reasons, found.list
	if s.list != nil {
		s.rule, s.group = &ruleLists{definition: found.d, keyed: found.d}, found.group
	}
	return s, nil
}

// choosePastRule is nil where no rule is known. Also those are known of which only the past is.
func (h *handler) choosePastRule(c *catalog, q url.Values) (*ruleLists, error) {
	past := h.store.history.definitions()
	for _, name := range c.names {
		past[name] = c.rules[name].definition
	}
	names := slices.Sorted(maps.Keys(past))
	name := q.Get("rule")
	switch {
	case len(names) == 0:
		return nil, nil
	case !q.Has("rule") && len(names) == 1:
		name = names[0]
	case !q.Has("rule"):
		return nil, severalRules(names)
	case past[name] == nil:
		return nil, unknownRule(name, names)
	}
	if r := c.rules[name]; r != nil {
		return r, nil
	}
	return &ruleLists{definition: past[name], keyed: past[name]}, nil
}

// definitions are those of the newest hours, by name.
func (h *history) definitions() map[string]*rule.Definition {
	h.mu.RLock()
	defer h.mu.RUnlock()
	definitions := map[string]*rule.Definition{}
	for name, past := range h.rules {
		newest := past.eras[0]
		for _, e := range past.eras {
			if e.last().start > newest.last().start {
				newest = e
			}
		}
		definitions[name] = newest.definition
	}
	return definitions
}
