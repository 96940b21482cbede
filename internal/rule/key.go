package rule

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/zeebo/xxh3"
)

// hashDigits is the length of the hash that ends a cut text.
const hashDigits = 32

// keyText makes the text that a key or a group name counts under.
type keyText struct {
	limit     int    // bytes
	seed      uint64 // of the hash that tells cut texts apart
	composite bool   // a JSON array of the parts
}

// counted is a text as it counts, and what had to be done to it.
type counted struct {
	text          string
	cut, repaired bool
}

// single is s repaired and cut. Where nothing is to be done it is s itself.
func (k *keyText) single(s string) counted {
	if len(s) <= k.limit && utf8.ValidString(s) {
		return counted{text: s}
	}
	var c counted
	c.text, c.repaired = repair(s)
	if len(c.text) > k.limit {
		c.text, c.cut = string(k.appendCut(nil, c.text, k.limit)), true
	}
	return c
}

// repair turns every run of bytes that are no UTF-8 into one U+FFFD.
func repair(s string) (_ string, repaired bool) {
	if utf8.ValidString(s) {
		return s, false
	}
	return strings.ToValidUTF8(s, string(utf8.RuneError)), true
}

// appendArray appends the canonical JSON array of parts to dst, in at most limit bytes.
func (k *keyText) appendArray(dst []byte, parts []value) (_ []byte, cut, repaired bool) {
	from := len(dst)
	dst = append(dst, '[')
	lengths := make([]int, 0, 8) // without quotes
	for i := range parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		before := len(dst)
		var bad bool
		dst, bad = appendPart(dst, &parts[i])
		lengths = append(lengths, len(dst)-before-len(`""`))
		repaired = repaired || bad
	}
	if dst = append(dst, ']'); len(dst)-from <= k.limit || len(parts) == 0 {
		return dst, false, repaired
	}

	share := fairShare(lengths, k.limit-len(`[]`)-(len(parts)-1)-len(parts)*len(`""`))
	dst = append(dst[:from], '[')
	for i := range parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		if lengths[i] <= share {
			dst, _ = appendPart(dst, &parts[i])
			continue
		}
		whole, _ := repair(string(appendText(nil, &parts[i])))
		dst = k.appendCutEscaped(append(dst, '"'), whole, share)
		dst = append(dst, '"')
	}
	return append(dst, ']'), true, repaired
}

// fairShare is the length that longer parts are cut to, so that all fit: what short ones leave over is the others'.
func fairShare(lengths []int, room int) int {
	share := room / len(lengths)
	for {
		left, long := room, 0
		for _, n := range lengths {
			if n <= share {
				left -= n
			} else {
				long++
			}
		}
		if long == 0 || left/long <= share {
			return share
		}
		share = left / long
	}
}

// appendPart appends one part as a JSON string.
func appendPart(dst []byte, v *value) (_ []byte, repaired bool) {
	switch v.kind {
	case text, other:
		s := v.str
		if v.kind == other {
			s = string(appendText(nil, v))
		}
		s, repaired = repair(s)
		return appendJSONString(dst, s), repaired
	default: // nothing to escape
		return append(appendText(append(dst, '"'), v), '"'), false
	}
}

// appendCut appends as much of s as limit allows, to the end of a rune, and the hash of all of it.
func (k *keyText) appendCut(dst []byte, s string, limit int) []byte {
	n := max(0, limit-hashDigits)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return k.appendHash(append(dst, s[:n]...), s)
}

// appendCutEscaped is appendCut for the inside of a JSON string, where limit counts escaped bytes.
func (k *keyText) appendCutEscaped(dst []byte, s string, limit int) []byte {
	full := len(dst) + limit - hashDigits
	for i, r := range s {
		n := len(dst)
		if r < utf8.RuneSelf && escaped[r] {
			dst = appendEscape(dst, byte(r))
		} else {
			dst = append(dst, s[i:i+utf8.RuneLen(r)]...)
		}
		if len(dst) > full {
			dst = dst[:n]
			break
		}
	}
	return k.appendHash(dst, s)
}

func (k *keyText) appendHash(dst []byte, s string) []byte {
	h := xxh3.HashString128Seed(s, k.seed)
	return appendHex(dst, h.Hi, h.Lo)
}

func (d *Definition) keyText() keyText {
	return keyText{limit: d.MaxKeyBytes, seed: d.Shape.Seed, composite: len(d.Key) > 1}
}

// KeyOf is the key that records with these parts count under: repaired to valid UTF-8, composite ones as canonical JSON
// array text, cut to MaxKeyBytes. The API canonicalises what a user asks for with it. It takes as many parts as Key has.
func (d *Definition) KeyOf(parts ...string) string {
	k := d.keyText()
	if !k.composite && len(parts) == 1 {
		return k.single(parts[0]).text
	}
	values := make([]value, len(parts))
	for i, p := range parts {
		values[i].setText(p)
	}
	array, _, _ := k.appendArray(nil, values)
	return string(array)
}

// GroupOf is the group that records with this name count under: repaired and cut as a key is.
func (d *Definition) GroupOf(name string) Group {
	k := d.keyText()
	return Group{Scope: ScopeGroup, Name: k.single(name).text}
}

// Parts is the inverse of KeyOf for keys that were not cut: one part, or those of the JSON array.
func (d *Definition) Parts(key string) []string {
	if len(d.Key) > 1 {
		var parts []string
		if err := json.Unmarshal([]byte(key), &parts); err == nil {
			return parts
		}
	}
	return []string{key}
}
