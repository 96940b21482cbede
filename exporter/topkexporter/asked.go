package topkexporter

import (
	"context"
	"maps"
	"net/url"
	"slices"

	"github.com/otel-topk/collector/exporter/topkexporter/internal/exact"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
)

// choose finds the list that q names: of now, of the past, or of all time.
func (h *handler) choose(ctx context.Context, c *catalog, q url.Values) (selection, error) {
	s, past, err := spanOf(q, h.longestSpan)
	switch {
	case err != nil:
		return selection{}, err
	case past:
		return h.choosePast(ctx, c, q, s)
	case q.Get("window") == allTime:
		return h.chooseAll(ctx, c, q)
	}
	return c.choose(q)
}

// choosePast finds or makes the list that q names of a span of the past: the exact one, or as long as there is none what was served.
func (h *handler) choosePast(ctx context.Context, c *catalog, q url.Values, at span) (selection, error) {
	s, err := h.chooseRuleOfPast(c, q)
	s.window = window.Name(at.length())
	if err != nil || s.rule == nil {
		return s, err
	}
	p := h.store.history.plan(s.rule.definition.Name, s.group, at, h.now())
	status := exact.Approximate
	asked, other := h.question(c, p)
	if asked != nil {
		var l *exact.List
		if l, status = h.recounts.exact.List(ctx, asked); status == exact.Exactly {
			if p.d != nil {
				s.rule = &ruleLists{definition: p.d, keyed: p.d}
			}
			s.takeExact(l, asked)
			return s, nil
		}
	}
	if err := h.approximate(ctx, &s, at); err != nil {
		return s, err
	}
	switch {
	case status == exact.Pending:
		s.pending()
	case other && !at.end().After(h.recounts.closed(h.now())):
		s.reason(reasonDefinition)
	}
	return s, nil
}

// approximate makes the list of s from what was served of a span.
func (h *handler) approximate(ctx context.Context, s *selection, at span) error {
	found, err := h.store.history.list(ctx, s.rule.definition.Name, s.group, at, h.now())
	if err != nil {
		return err
	}
	s.start, s.reasons, s.list = at.start(), found.reasons, found.list
	if s.list != nil {
		s.rule, s.group = &ruleLists{definition: found.d, keyed: found.d}, found.group
	}
	return nil
}

// chooseRuleOfPast finds the rule and the group that q names. The rule is nil where none is known.
func (h *handler) chooseRuleOfPast(c *catalog, q url.Values) (s selection, err error) {
	if s.group, err = groupOf(q); err != nil {
		return s, err
	}
	if s.rule, err = h.choosePastRule(c, q); s.rule == nil {
		return s, err
	}
	if s.group.Scope != rule.ScopeGlobal && !s.rule.definition.Grouped() {
		return s, notGrouped(s.rule.definition.Name)
	}
	return s, nil
}

// choosePastRule is nil where no rule is known. Also those are known of which only the past is, and those that are counted exactly.
func (h *handler) choosePastRule(c *catalog, q url.Values) (*ruleLists, error) {
	past := h.recounts.definitions()
	maps.Copy(past, h.store.history.definitions())
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
