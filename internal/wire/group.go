package wire

import (
	"unicode/utf8"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire/wirepb"
)

var scopes = [...]wirepb.Scope{
	rule.ScopeGlobal:   wirepb.Scope_SCOPE_GLOBAL,
	rule.ScopeGroup:    wirepb.Scope_SCOPE_GROUP,
	rule.ScopeMissing:  wirepb.Scope_SCOPE_MISSING,
	rule.ScopeOverflow: wirepb.Scope_SCOPE_OVERFLOW,
}

func encodeGroup(g rule.Group) *wirepb.Group {
	return &wirepb.Group{Scope: scopes[g.Scope], Name: g.Name}
}

func decodeGroup(m *wirepb.Group) (rule.Group, error) {
	for scope, s := range scopes {
		if s == m.GetScope() {
			return rule.Group{Scope: rule.Scope(scope), Name: m.GetName()}, nil
		}
	}
	return rule.Group{}, refuse(ReasonInvalid, "group.scope: %d, allowed is 1 to %d", m.GetScope(), len(scopes))
}

// checkGroup says why a rule has no such list.
func checkGroup(g rule.Group, d *rule.Definition) error {
	switch {
	case int(g.Scope) >= len(scopes):
		return refuse(ReasonInvalid, "group.scope: %d is unknown", g.Scope)
	case !d.Grouped() && g.Scope != rule.ScopeGlobal:
		return refuse(ReasonInvalid, "group.scope: a rule without group_by has the scope global only")
	case g.Scope != rule.ScopeGroup && g.Name != "":
		return refuse(ReasonInvalid, "group.name: only a list of scope group has one")
	case len(g.Name) > d.MaxKeyBytes:
		return tooLarge("group.name", len(g.Name), d.MaxKeyBytes)
	case !utf8.ValidString(g.Name):
		return refuse(ReasonInvalid, "group.name: not UTF-8")
	}
	return nil
}
