package topkexporter

import (
	"github.com/otel-topk/collector/internal/rule"
)

// rulesAnswer is the answer of /v1/rules.
type rulesAnswer struct {
	Rules []ruleEntry `json:"rules"`
}

// ruleEntry is a rule and the lists that may be asked for.
type ruleEntry struct {
	Name       string     `json:"name"`
	AsOf       *string    `json:"as_of"`
	Windows    []string   `json:"windows"`
	Scopes     []string   `json:"scopes"`
	Groups     []string   `json:"groups"`
	Definition definition `json:"definition"`
}

// definition is what a rule counts.
type definition struct {
	Signals     []string `json:"signals"`
	Key         []string `json:"key"`
	Default     *string  `json:"default"`
	GroupBy     *string  `json:"group_by"`
	Weight      string   `json:"weight"`
	WeightScale float64  `json:"weight_scale"`
	Conditions  []string `json:"conditions"`
	Time        *string  `json:"time"`
	K           int      `json:"k"`
	MaxKeyBytes int      `json:"max_key_bytes"`
	Residents   int      `json:"residents"`
	Width       int      `json:"width"`
	Depth       int      `json:"depth"`
}

func newDefinition(d *rule.Definition) definition {
	return definition{
		Signals:     filled(d.Signals),
		Key:         filled(d.Key),
		Default:     d.Default,
		GroupBy:     optional(d.GroupBy),
		Weight:      d.Weight,
		WeightScale: d.WeightScale,
		Conditions:  filled(d.Conditions),
		Time:        optional(d.Time),
		K:           d.K,
		MaxKeyBytes: d.MaxKeyBytes,
		Residents:   d.Residents,
		Width:       d.Shape.Width,
		Depth:       d.Shape.Depth,
	}
}

// optional is null for "".
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// rulesCall answers /v1/rules.
func (c *catalog) rulesCall(rawQuery string) (*answer, error) {
	if _, err := parameters(rawQuery, nil); err != nil {
		return nil, err
	}
	return c.answers.get(answerKey{name: "rules"}, func() *answer {
		a := rulesAnswer{Rules: make([]ruleEntry, len(c.names))}
		for i, name := range c.names {
			a.Rules[i] = newRuleEntry(c.rules[name])
		}
		return newJSON(a, cacheLists)
	}), nil
}

func newRuleEntry(r *ruleLists) ruleEntry {
	scopes := make([]string, len(r.scopes))
	for i, s := range r.scopes {
		scopes[i] = s.String()
	}
	return ruleEntry{
		Name:       r.definition.Name,
		AsOf:       utc(r.newest),
		Windows:    windowNames(r.windows),
		Scopes:     scopes,
		Groups:     filled(r.groups),
		Definition: newDefinition(r.definition),
	}
}
