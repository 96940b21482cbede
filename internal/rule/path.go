package rule

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// A plain path needs no OTTL: a context, a field and, for attributes, one name. Names with other escapes than
// those of quote and backslash are left to OTTL, which reads them in its own way.
var (
	plainPath = regexp.MustCompile(`^\s*([a-z][a-z0-9_]*)\.([a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)*)(\[\s*"((?:\\["\\]|[^"\\])*)"\s*\])?\s*$`)
	unescaper = strings.NewReplacer(`\"`, `"`, `\\`, `\`)
)

// place is where every walk stands besides the record itself.
type place struct {
	resource       pcommon.Resource
	resourceSchema string
	scope          pcommon.InstrumentationScope
	scopeSchema    string
}

// fields are the plain paths of one context.
type fields[C any] struct {
	level level
	maps  map[string]func(*C) pcommon.Map // take one key
	plain map[string]func(*C, *value)
}

// direct compiles a plain path; ok is false where OTTL has to.
func direct[C any](contexts map[string]fields[C], path string) (l lookup[C], ok bool) {
	m := plainPath.FindStringSubmatch(path)
	if m == nil || !utf8.ValidString(path) {
		return l, false
	}
	f := contexts[m[1]]
	if m[3] != "" {
		in, known := f.maps[m[2]]
		return lookup[C]{level: f.level, in: in, attribute: unescaper.Replace(m[4])}, known
	}
	get, known := f.plain[m[2]]
	return lookup[C]{level: f.level, get: get}, known
}

// outer are the contexts that every kind of record has.
func outer[C any](at func(*C) *place) (resource, scope fields[C]) {
	resource = fields[C]{
		level: perResource,
		maps: map[string]func(*C) pcommon.Map{
			"attributes": func(c *C) pcommon.Map { return at(c).resource.Attributes() },
		},
		plain: map[string]func(*C, *value){
			"dropped_attributes_count": func(c *C, v *value) { v.setInt(int64(at(c).resource.DroppedAttributesCount())) },
			"schema_url":               func(c *C, v *value) { v.setText(at(c).resourceSchema) },
		},
	}
	scope = fields[C]{
		level: perScope,
		maps: map[string]func(*C) pcommon.Map{
			"attributes": func(c *C) pcommon.Map { return at(c).scope.Attributes() },
		},
		plain: map[string]func(*C, *value){
			"name":                     func(c *C, v *value) { v.setText(at(c).scope.Name()) },
			"version":                  func(c *C, v *value) { v.setText(at(c).scope.Version()) },
			"dropped_attributes_count": func(c *C, v *value) { v.setInt(int64(at(c).scope.DroppedAttributesCount())) },
			"schema_url":               func(c *C, v *value) { v.setText(at(c).scopeSchema) },
		},
	}
	return resource, scope
}
