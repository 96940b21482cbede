package rule

import "fmt"

// Scope says what a list covers.
type Scope uint8

// What lists cover.
const (
	ScopeGlobal   Scope = iota // all records of the rule
	ScopeGroup                 // the records of one group
	ScopeMissing               // records without the group attribute
	ScopeOverflow              // records of groups beyond max_groups
)

var scopeNames = [...]string{"global", "group", "missing", "overflow"}

// String is "global", "group", "missing" or "overflow". ParseScope is its inverse.
func (s Scope) String() string {
	if int(s) >= len(scopeNames) {
		return fmt.Sprintf("Scope(%d)", uint8(s))
	}
	return scopeNames[s]
}

// ParseScope is the inverse of String.
func ParseScope(name string) (Scope, error) {
	for s, known := range scopeNames {
		if name == known {
			return Scope(s), nil
		}
	}
	return 0, fmt.Errorf("scope: %q is not one of global, group, missing, overflow", name)
}

// Group names one list of a rule: Name is set for ScopeGroup only, and may be any text there, also "".
type Group struct {
	Scope Scope
	Name  string
}
