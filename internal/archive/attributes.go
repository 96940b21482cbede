package archive

import (
	"slices"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otel-topk/collector/internal/rule"
)

// mapLeaves are the leaf columns of attributes, and those that left them for a column of their own.
type mapLeaves struct {
	key, value, types int
	promoted          []promoted
}

// promoted is an attribute with a column of its own.
type promoted struct {
	name       string
	text, kind int // leaf columns
	place      int // in Meta.Columns
}

// mapLeaves of the attributes in column name; context says whose they are.
func (l *layout) mapLeaves(name, context string, columns []Column) mapLeaves {
	m := mapLeaves{key: l.leaf[name+".key_value.key"], value: l.leaf[name+".key_value.value"], types: l.leaf[name+typesSuffix]}
	for i, c := range columns {
		if a, _ := parseColumn(c.Path); a.Context == context {
			m.promoted = append(m.promoted, promoted{a.Name, l.leaf[c.Name], l.leaf[c.Name+typeSuffix], i})
		}
	}
	return m
}

// find is the promoted attribute of that name; -1: none.
func (m *mapLeaves) find(name string) int {
	return slices.IndexFunc(m.promoted, func(p promoted) bool { return p.name == name })
}

// attributeSink writes attributes. It keeps memory only.
type attributeSink struct {
	*sink
	arena          []byte // of values that are no text
	letters, trees []byte
	keys           []string // of the map
	many           map[string]struct{}
	held           []bool // promoted ones that were found
}

// reset lets go of texts: what refers to them was handed on.
func (s *attributeSink) reset() {
	s.arena = s.arena[:0]
	clear(s.keys)
}

// typed appends the text of v where it is none, and its letter, and returns the text.
func (s *attributeSink) typed(v pcommon.Value) (text []byte, exact bool) {
	from := len(s.arena)
	s.arena, s.letters, s.trees, exact = appendTyped(s.arena, s.letters, s.trees, v)
	return s.arena[from:len(s.arena):len(s.arena)], exact
}

// single writes a value with a column of its own, and its type beside it unless it is text.
func (s *attributeSink) single(text, kind int, v pcommon.Value, a at) (exact bool) {
	if v.Type() == pcommon.ValueTypeStr && utf8.ValidString(v.Str()) {
		s.someText(text, v.Str(), a)
		s.none(kind, a)
		return true
	}
	s.letters, s.trees = s.letters[:0], s.trees[:0]
	value, exact := s.typed(v)
	if v.Type() == pcommon.ValueTypeEmpty {
		s.none(text, a)
	} else {
		s.some(text, value, a)
	}
	if s.letters[0] == typeText {
		s.none(kind, a)
	} else {
		s.some(kind, s.keep(append(s.letters, s.trees...)), a)
	}
	return exact
}

// keep copies p to where it stays until reset.
func (s *attributeSink) keep(p []byte) []byte {
	from := len(s.arena)
	s.arena = append(s.arena, p...)
	return s.arena[from:len(s.arena):len(s.arena)]
}

// fewKeys are compared one by one; more are looked up.
const fewKeys = 32

// twice notes a key of the map, and says whether it was there already.
func (s *attributeSink) twice(key string) bool {
	if len(s.keys) < fewKeys {
		if slices.Contains(s.keys, key) {
			return true
		}
	} else {
		if len(s.keys) == fewKeys {
			s.many = map[string]struct{}{}
			for _, k := range s.keys {
				s.many[k] = struct{}{}
			}
		}
		if _, ok := s.many[key]; ok {
			return true
		}
		s.many[key] = struct{}{}
	}
	s.keys = append(s.keys, key)
	return false
}

// attributes writes m, and counts the promoted ones that are there in present. It says whether all comes back from that.
func (s *attributeSink) attributes(to *mapLeaves, m pcommon.Map, a at, present []int64) (exact bool) {
	exact = true
	s.held = append(s.held[:0], make([]bool, len(to.promoted))...)
	for i := range to.promoted {
		p := &to.promoted[i]
		v, ok := m.Get(p.name)
		if s.held[i] = ok; !ok {
			s.none(p.text, a)
			s.none(p.kind, a)
			continue
		}
		present[p.place]++
		exact = s.single(p.text, p.kind, v, a) && exact
	}

	s.keys, s.letters, s.trees = s.keys[:0], s.letters[:0], s.trees[:0]
	inside := at{a.repetition, a.definition + 1}
	texts := true
	for key, v := range m.All() {
		if len(to.promoted) > 0 {
			if i := to.find(key); i >= 0 {
				exact, s.held[i] = exact && s.held[i], false
				continue
			}
		}
		if !utf8.ValidString(key) {
			key, exact = rule.Repaired(key), false
		}
		if s.twice(key) {
			exact = false
			continue
		}
		s.text(to.key, key, inside)
		switch {
		case v.Type() == pcommon.ValueTypeStr && utf8.ValidString(v.Str()):
			s.letters = append(s.letters, typeText)
			s.someText(to.value, v.Str(), inside)
		default:
			texts = texts && v.Type() == pcommon.ValueTypeStr
			value, ok := s.typed(v)
			exact = exact && ok
			if v.Type() == pcommon.ValueTypeEmpty {
				s.none(to.value, inside)
			} else {
				s.some(to.value, value, inside)
			}
		}
		inside.repetition = a.definition + 1 // as deep as groups repeat
	}
	if len(s.keys) == 0 {
		s.none(to.key, a)
		s.none(to.value, a)
	}
	if texts {
		s.none(to.types, a)
	} else {
		s.some(to.types, s.keep(append(s.letters, s.trees...)), a)
	}
	return exact
}
