package board

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"unique"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
)

// What the keys of stored values begin with. FORMAT.md specifies keys and values.
const (
	epochPrefix    = "epoch/"
	rulePrefix     = "rule/"
	statePrefix    = "state/"
	setPrefix      = "set/"
	partPrefix     = "part/"
	incidentPrefix = "incident/"
)

// longName is from how many bytes on a group's name stands in keys as its hash.
const longName = 256

// Texts of groups in keys.
const (
	textGlobal   = "global"
	textMissing  = "missing"
	textOverflow = "overflow"
	textGroup    = "group:"
	textLong     = "long:"
)

// tag is a group in the index of parts, where one group has thousands of entries.
type tag = unique.Handle[rule.Group]

// definitionID names a definition in keys. The fingerprint does not cover the name of the rule.
func definitionID(name, fingerprint string) string {
	return hash(name + "\x00" + fingerprint)
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

func epochKey(id wire.Epoch) string { return epochPrefix + hex.EncodeToString(id[:]) }

func ruleKey(definition string) string { return rulePrefix + definition }

// spareKey is where a definition lies once more: without it nothing of its parts could be read.
func spareKey(definition string) string { return ruleKey(definition) + "/spare" }

func setKey(definition string, m window.Minute) string {
	return setPrefix + definition + "/" + number(m)
}

func stateKey(definition string, m window.Minute, id wire.Epoch, g rule.Group) string {
	return statePrefix + definition + "/" + number(m) + "/" + hex.EncodeToString(id[:]) + "/" + groupText(g)
}

func partKey(definition string, p window.Part, g rule.Group) string {
	return partPrefix + definition + "/" + partText(p) + "/" + groupText(g)
}

func incidentKey(p window.Part, name string) string { return incidentPrefix + partText(p) + "/" + name }

func number[N ~int64](n N) string { return strconv.FormatInt(int64(n), 10) }

func partText(p window.Part) string { return number(p.Size) + "-" + number(p.Start) }

func groupText(g rule.Group) string {
	switch {
	case g.Scope == rule.ScopeGlobal:
		return textGlobal
	case g.Scope == rule.ScopeMissing:
		return textMissing
	case g.Scope == rule.ScopeOverflow:
		return textOverflow
	case len(g.Name) >= longName:
		return textLong + hash(g.Name)
	}
	return textGroup + g.Name
}

// groupOf is the inverse of groupText. long: the value says which group it is.
func groupOf(text string) (g rule.Group, long, ok bool) {
	switch text {
	case textGlobal:
		return global, false, true
	case textMissing:
		return rule.Group{Scope: rule.ScopeMissing}, false, true
	case textOverflow:
		return overflow, false, true
	}
	if strings.HasPrefix(text, textLong) {
		return rule.Group{}, true, true
	}
	name, ok := strings.CutPrefix(text, textGroup)
	return rule.Group{Scope: rule.ScopeGroup, Name: name}, false, ok && len(name) < longName
}

func partOf(text string) (window.Part, bool) {
	a, b, ok := strings.Cut(text, "-")
	size, err1 := strconv.ParseInt(a, 10, 64)
	start, err2 := strconv.ParseInt(b, 10, 64)
	p := window.Part{Start: window.Minute(start), Size: window.Size(size)}
	if !ok || err1 != nil || err2 != nil || start < 0 || p.Start > wire.MaxMinute {
		return p, false
	}
	for _, s := range window.Sizes {
		if p.Size == s {
			return p, window.PartOf(p.Start, s) == p
		}
	}
	return p, false
}

// splitMinute takes a definition and a minute off the text behind a prefix.
func splitMinute(text string) (definition string, m window.Minute, rest string, ok bool) {
	definition, text, ok = strings.Cut(text, "/")
	text, rest, _ = strings.Cut(text, "/")
	n, err := strconv.ParseInt(text, 10, 64)
	m = window.Minute(n)
	return definition, m, rest, ok && err == nil && m >= 0 && m <= wire.MaxMinute
}

// longNameOf is what of g the value says, as the key does not.
func longNameOf(g rule.Group) string {
	if len(g.Name) < longName {
		return ""
	}
	return g.Name
}
