package archive

import (
	"encoding/binary"
	"errors"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"google.golang.org/protobuf/encoding/protowire"
)

// pair is an attribute as it is stored.
type pair struct {
	key, text string
	letter    byte
	tree      string // of a list or map, with its length before it
	entry     int    // of the map
}

func (p *pair) setIn(v pcommon.Value) error {
	if p.letter == typeText { // most are
		v.SetStr(p.text)
		return nil
	}
	_, err := setTyped(v, p.text, p.letter, []byte(p.tree))
	return err
}

// attributeReader reads attributes, all or some.
type attributeReader struct {
	whole             bool
	names             []string    // of the map that are read, where not the whole
	key, value, types *leafReader // nil: the map is not read
	promoted          []promotedReader
	deep              byte // repetition level of a further entry
	pairs             []pair
}

type promotedReader struct {
	name       string
	text, kind *leafReader
}

// reads says whether there is anything to read.
func (a *attributeReader) reads() bool { return a.key != nil || len(a.promoted) > 0 }

// next reads the attributes of the next record, event or link.
func (a *attributeReader) next() error {
	a.pairs = a.pairs[:0]
	for i := range a.promoted {
		p := &a.promoted[i]
		if one, ok, err := nextSingle(p.text, p.kind); err != nil {
			return err
		} else if ok {
			one.key = p.name
			a.pairs = append(a.pairs, one)
		}
	}
	if a.key == nil {
		return nil
	}
	types := a.types.someText()
	typed, first, entries := types != "", len(a.pairs), 0
	for a.key.some() {
		key, text := a.key.text(), a.value.someText()
		if typed && entries >= len(types) {
			return errTypes
		}
		if a.whole || slices.Contains(a.names, key) {
			p := pair{key: key, text: text, letter: typeText, entry: entries}
			if typed {
				p.letter = types[entries]
			}
			a.pairs = append(a.pairs, p)
		}
		if entries++; a.key.ahead() != a.deep {
			break
		}
	}
	if entries == 0 {
		a.value.next()
	}
	if typed {
		if err := a.trees(types, entries, first); err != nil {
			return err
		}
	}
	return nil
}

var errTypes = errors.New("types do not fit the attributes")

// trees gives the pairs from first on theirs, which follow the letters.
func (a *attributeReader) trees(types string, entries, first int) error {
	rest := types[entries:]
	for entry := range entries {
		tree := ""
		if types[entry] == typeTree {
			n, used := binary.Uvarint([]byte(rest[:min(len(rest), binary.MaxVarintLen64)]))
			if used <= 0 || n > uint64(len(rest)-used) {
				return errTypes
			}
			tree, rest = rest[:used+int(n)], rest[used+int(n):]
		}
		if first < len(a.pairs) && a.pairs[first].entry == entry {
			a.pairs[first].tree = tree
			first++
		}
	}
	return nil
}

// nextSingle reads a value with a column of its own. ok: it is there.
func nextSingle(text, kind *leafReader) (p pair, ok bool, err error) {
	p.letter = typeText
	if ok = text.some(); ok {
		p.text = text.text()
	}
	if kind.some() {
		letter := kind.text()
		if letter == "" {
			return p, false, errTypes
		}
		p.letter, p.tree, ok = letter[0], letter[1:], true
	}
	return p, ok, nil
}

// fill makes m hold the attributes. What it held before is of the same reader, and reused where it fits.
func (a *attributeReader) fill(m pcommon.Map) error {
	if m.Len() == len(a.pairs) {
		i := 0
		for key, v := range m.All() {
			if key != a.pairs[i].key {
				break
			}
			if err := a.pairs[i].setIn(v); err != nil {
				return err
			}
			i++
		}
		if i == len(a.pairs) {
			return nil
		}
	}
	if len(a.pairs) > fewKeys {
		return a.fillMany(m)
	}
	m.RemoveIf(func(string, pcommon.Value) bool { return true })
	m.EnsureCapacity(len(a.pairs))
	for i := range a.pairs {
		if err := a.pairs[i].setIn(m.PutEmpty(a.pairs[i].key)); err != nil {
			return err
		}
	}
	return nil
}

// fillMany is fill by way of protobuf: a map looks through all it has for each name that is put into it.
func (a *attributeReader) fillMany(m pcommon.Map) error {
	v := pcommon.NewValueEmpty()
	var list, entry []byte
	for i := range a.pairs {
		if err := a.pairs[i].setIn(v); err != nil {
			return err
		}
		entry = protowire.AppendString(protowire.AppendTag(entry[:0], pairKey, protowire.BytesType), a.pairs[i].key)
		entry = appendMessage(entry, pairValue, appendValue(nil, v))
		list = appendMessage(list, listValues, entry)
	}
	if err := readValue(v, appendMessage(nil, anyMap, list)); err != nil {
		return err
	}
	v.Map().MoveTo(m)
	return nil
}
