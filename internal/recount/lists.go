package recount

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/table"
)

// lists of a rule, by number. The first is the one asked for, or the global one.
type lists struct {
	all    []table.Sum
	of     *rule.Group // only this one is counted
	ids    map[rule.Group]uint32
	last   rule.Group // was looked up before
	lastID uint32
	bytes  int64 // of memory, about
	limit  int64 // of bytes
}

// noList is the number of none: the budget has no place for another.
const noList = ^uint32(0)

// listBytes of memory of a list beside its name: its sum, its place in the map and in the order.
const listBytes = 160

// newLists are the global list and, as they come, those of all groups; or the one of a group.
func newLists(of *rule.Group, limit int64) *lists {
	l := &lists{of: of, limit: limit, ids: map[rule.Group]uint32{}}
	first := rule.Group{}
	if of != nil {
		first = *of
	}
	l.all = append(l.all, table.Sum{Group: first})
	l.ids[first], l.last = 0, first
	return l
}

// id of the list of g, which is made where there is none.
func (l *lists) id(g rule.Group) uint32 {
	if g == l.last {
		return l.lastID
	}
	id, ok := l.ids[g]
	if !ok {
		size := listBytes + int64(len(g.Name))
		if l.bytes+size > l.limit {
			return noList
		}
		l.bytes += size
		g.Name = string([]byte(g.Name)) // what the batch holds is reused
		id = uint32(len(l.all))
		l.ids[g] = id
		l.all = append(l.all, table.Sum{Group: g})
	} else {
		g = l.all[id].Group
	}
	l.last, l.lastID = g, id
	return id
}

// add a record of weight w.
func (l *lists) add(id uint32, w uint64) error {
	sum := &l.all[id]
	sum.Records++
	if sum.Weight += w; sum.Weight > maxTotal {
		return fmt.Errorf("the weights of the list %s add up to more than 2^63", sum.Group.Scope)
	}
	return nil
}

// order is the numbers of the lists sorted by scope and group, and the place of each in it.
func (l *lists) order() (sorted []uint32, place []uint32) {
	sorted, place = make([]uint32, len(l.all)), make([]uint32, len(l.all))
	for i := range sorted {
		sorted[i] = uint32(i)
	}
	slices.SortFunc(sorted, func(a, b uint32) int {
		x, y := l.all[a].Group, l.all[b].Group
		return cmp.Or(cmp.Compare(x.Scope, y.Scope), cmp.Compare(x.Name, y.Name))
	})
	for i, id := range sorted {
		place[id] = uint32(i)
	}
	return sorted, place
}

// found notes a key of a list, when all are counted.
func (l *lists) found(r row) {
	if r.weight > 0 {
		l.all[r.list].Distinct++
	}
}
