// Package rule turns a rule's text into the key, group and weight of a record. It holds the only walk over records.
package rule

import (
	"github.com/otel-topk/collector/topk"
)

// Scope says what a list covers.
type Scope uint8

const (
	ScopeGlobal   Scope = iota // all records of the rule
	ScopeGroup                 // the records of one group
	ScopeMissing               // records without the group attribute
	ScopeOverflow              // records of groups beyond max_groups
)

// String is "global", "group", "missing" or "overflow". ParseScope is its inverse.
func (s Scope) String() string { panic("stub") }

func ParseScope(text string) (Scope, error) { panic("stub") }

// Group names one list of a rule: Name is set for ScopeGroup only, and may be any text there, also "".
type Group struct {
	Scope Scope
	Name  string
}

// Definition is what of a rule travels with its summaries: enough to merge, to list, to look a key up and to say what was
// counted, without the configuration.
type Definition struct {
	Name        string
	Signals     []string // "logs", "traces", "metrics"
	Key         []string // path texts as configured
	GroupBy     string
	Weight      string // "1", "bytes" or a path
	WeightScale float64
	Conditions  []string
	Default     *string // counted where the key is missing
	Time        string  // "", or "start"
	K           int
	MaxKeyBytes int
	Residents   int // of a shard's summary
	Shape       topk.Shape
}

// Fingerprint is 32 hex digits over everything that decides what is counted and whether it merges: all but Name, K and Residents.
func (d *Definition) Fingerprint() string { panic("stub") }

// Grouped says whether the rule has a group_by.
func (d *Definition) Grouped() bool { return d.GroupBy != "" }

// KeyOf is the key that records with these parts count under: repaired to valid UTF-8, composite ones as canonical JSON
// array text, cut to MaxKeyBytes. The API canonicalises what a user asks for with it.
func (d *Definition) KeyOf(parts ...string) string { panic("stub") }

// Parts is the inverse of KeyOf for keys that were not cut: one part, or those of the JSON array.
func (d *Definition) Parts(key string) []string { panic("stub") }
