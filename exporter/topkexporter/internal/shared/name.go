package shared

import (
	"net/url"
	"time"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
)

// Name of a list.
type Name struct {
	Rule   string
	Window time.Duration
	Group  rule.Group
}

// member of the index, and the end of the list's keys: its parts are escaped, so that none holds a colon.
func (n Name) member() string {
	text := url.QueryEscape(n.Rule) + ":" + window.Name(n.Window) + ":" + n.Group.Scope.String()
	if n.Group.Scope == rule.ScopeGroup {
		text += ":" + url.QueryEscape(n.Group.Name)
	}
	return text
}

// keys of one Redis.
type keys struct{ prefix string }

func (k keys) index() string                    { return k.prefix + ":lists" }
func (k keys) rules() string                    { return k.prefix + ":rules" }
func (k keys) list(member string) string        { return k.prefix + ":list:" + member }
func (k keys) rank(member string) string        { return k.prefix + ":rank:" + member }
func (k keys) publication(member string) string { return k.prefix + ":publication:" + member }

// alias of the global list of the only rule, and of its ranks.
func (k keys) alias(w time.Duration) (list, rank string) {
	name := "top:" + window.Name(w)
	if k.prefix != defaultPrefix {
		name = k.prefix + ":" + name
	}
	return name, name + ":rank"
}
