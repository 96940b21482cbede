// Package table holds exact tables: the weight of every key of a rule, group and hour, sorted, in Parquet. FORMAT.md describes them.
package table

import (
	"cmp"
	"strings"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
)

// Row is the exact count of one key in one list.
type Row struct {
	Group   rule.Group
	Key     string
	Weight  uint64 // at most MaxWeight
	Records uint64
}

// Sum is what was counted in one list.
type Sum struct {
	Group    rule.Group
	Weight   uint64 // of all keys, at most MaxWeight
	Records  uint64
	Distinct uint64 // keys with weight
}

// MaxWeight is the most that a table holds in one number.
const MaxWeight = 1<<63 - 1

// Meta is what a table says of itself, in its footer.
type Meta struct {
	Rule        string
	Fingerprint string // of the definition that counted
	Signals     []string
	From, To    archive.Hour   // from From up to and without To
	Version     string         // stands for what it was made from: tables of one version are the same
	Files       []archive.File // that it was made from; of a merge, none
	Parts       []Part         // that were merged, by their hours
	LeftOut     []string       // damaged or foreign files that were not counted
	Skipped     rule.Skipped
	First       int   // of each list only the heaviest are here, at most so many; 0: all are
	Sums        []Sum // sorted by scope and group; where First is 0, Write works them out
}

// Part is a table that was merged.
type Part struct {
	From, To archive.Hour
	Version  string
}

// Sum of one list; nil where nothing was counted in it.
func (m *Meta) Sum(g rule.Group) *Sum {
	if i, found := find(m.Sums, g); found {
		return &m.Sums[i]
	}
	return nil
}

// CompareGroups orders lists as tables do.
func CompareGroups(a, b rule.Group) int {
	return cmp.Or(cmp.Compare(a.Scope, b.Scope), strings.Compare(a.Name, b.Name))
}

// compare orders rows as tables do.
func compare(a, b *Row) int {
	return cmp.Or(CompareGroups(a.Group, b.Group), strings.Compare(a.Key, b.Key))
}
