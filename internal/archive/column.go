package archive

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/otel-topk/collector/internal/rule"
)

// Column is an attribute that has a column of its own.
type Column struct {
	Path string // log.attributes["tenant.id"]; contexts: log, span, scope, resource
	Name string // tenant_id; resource_cloud_region of resource.attributes["cloud.region"]
}

// MaxColumns is how many attributes may have a column of their own.
const MaxColumns = 200

var columnPath = regexp.MustCompile(`^\s*(log|span|scope|resource)\.attributes\[\s*"((?:\\["\\]|[^"\\])*)"\s*\]\s*$`)

var unquoter = strings.NewReplacer(`\"`, `"`, `\\`, `\`)

// ParseColumns makes columns of the paths that a user writes. The error joins all problems, each with columns[i].
//
// A name is the attribute's in lower case, with _ for what is no letter, digit or underscore of ASCII; those of resource and scope
// have their context before it. A name that is taken has the context before it too, and if need be a number behind it.
func ParseColumns(paths []string) ([]Column, error) {
	var problems []error
	if len(paths) > MaxColumns {
		problems = append(problems, fmt.Errorf("columns: %d are too many, allowed are %d", len(paths), MaxColumns))
		paths = paths[:MaxColumns]
	}
	columns := make([]Column, 0, len(paths))
	taken := newTaken()
	first := map[rule.Attribute]int{}
	for i, path := range paths {
		a, ok := parseColumn(path)
		if !ok {
			problems = append(problems, fmt.Errorf(`columns[%d]: %q is no attribute; one is log.attributes["name"], or one of span, scope, resource in place of log`, i, path))
			continue
		}
		if j, twice := first[a]; twice {
			problems = append(problems, fmt.Errorf("columns[%d]: %s is columns[%d] already", i, path, j))
			continue
		}
		first[a] = i
		columns = append(columns, Column{Path: path, Name: taken.name(a)})
	}
	return columns, errors.Join(problems...)
}

func parseColumn(path string) (rule.Attribute, bool) {
	m := columnPath.FindStringSubmatch(path)
	if m == nil || !utf8.ValidString(path) {
		return rule.Attribute{}, false
	}
	return rule.Attribute{Context: m[1], Name: unquoter.Replace(m[2])}, true
}

// taken are the names of columns, by context: log and span never stand in one file.
type taken map[string]map[string]bool

func newTaken() taken {
	t := taken{"log": {}, "span": {}}
	for _, name := range layoutOf(rule.SignalLogs, nil).names {
		t["log"][name] = true
	}
	for _, name := range layoutOf(rule.SignalTraces, nil).names {
		t["span"][name] = true
	}
	return t
}

// name finds a name that is free, also with _type behind it, and takes both.
func (t taken) name(a rule.Attribute) string {
	plain := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		default:
			return '_'
		}
	}, a.Name)
	long := a.Context + "_" + plain
	name := plain
	if a.Context == "resource" || a.Context == "scope" || plain == "" || plain[0] >= '0' && plain[0] <= '9' {
		name = long
	}
	for n := 1; !t.take(a.Context, name); n++ {
		if name = long; n > 1 {
			name = long + "_" + strconv.Itoa(n)
		}
	}
	return name
}

func (t taken) take(context, name string) bool {
	var in []map[string]bool
	for _, c := range []string{"log", "span"} {
		if context == c || context == "resource" || context == "scope" {
			in = append(in, t[c])
		}
	}
	for _, names := range in {
		if names[name] || names[name+typeSuffix] {
			return false
		}
	}
	for _, names := range in {
		names[name], names[name+typeSuffix] = true, true
	}
	return true
}

// columnsOf are the columns that records of the signal can fill.
func columnsOf(signal string, columns []Column) (fit []Column) {
	other := "span"
	if signal == rule.SignalTraces {
		other = "log"
	}
	for _, c := range columns {
		if a, ok := parseColumn(c.Path); ok && a.Context != other {
			fit = append(fit, c)
		}
	}
	return fit
}
