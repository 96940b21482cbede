package board

import (
	"slices"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

// minute holds what is live of one rule and minute, and who was folded.
type minute struct {
	sets     map[wire.Epoch]*set // nil: was folded
	cells    map[rule.Group]*cell
	all      cell   // of a grouped rule: the sum of all cells
	overflow []*set // those with an overflow
	expires  int64  // wall time from which nothing more is taken
}

// set is what one epoch counted in one minute under one rule. It is complete when a final state of each group has come.
type set struct {
	epoch    *epoch
	states   map[rule.Group]*state
	groups   int // as the last final said
	finals   int
	overflow *topk.Summary // merged from the states that count there; nil: to be merged again
}

// state is the newest of its epoch, minute and group.
type state struct {
	set      *set
	group    rule.Group // where it counts: its own, or overflow where the gateway has no place for its own
	sequence uint64
	final    bool
	encoded  []byte
}

// cell is the live part of one minute and group. Its sums are kept until a state changes.
type cell struct {
	states  []*state
	sum     *topk.Summary
	fresh   bool
	bounded *topk.Summary // sum and the overflow of the sets that lack the group; nil: to be made again
}

func newMinute() *minute {
	return &minute{sets: map[wire.Epoch]*set{}, cells: map[rule.Group]*cell{}}
}

func (s *set) complete() bool {
	return s.finals == len(s.states) && s.finals >= s.groups
}

// lacks says whether records of g may be in the set's overflow.
func (s *set) lacks(g rule.Group) bool {
	st := s.states[g]
	return st == nil || st.group != g
}

// newer says whether s is to replace st: the highest sequence does, final beats any.
func (st *state) newer(s *wire.State) bool {
	if s.Final != st.final {
		return s.Final
	}
	return s.Sequence > st.sequence
}

// add makes room for a state that is the first of its group in its set.
func (m *minute) add(st *state, original rule.Group) {
	st.set.states[original] = st
	if st.group == overflow && !slices.Contains(m.overflow, st.set) {
		m.overflow = append(m.overflow, st.set)
	}
	c := m.cells[st.group]
	if c == nil {
		c = &cell{}
		m.cells[st.group] = c
	}
	c.states = append(c.states, st)
}

// changed forgets what was summed up of a state's group.
func (m *minute) changed(st *state) {
	c := m.cells[st.group]
	c.fresh, c.bounded = false, nil
	if st.group == overflow {
		st.set.overflow = nil
		for _, c := range m.cells {
			c.bounded = nil
		}
	}
	m.all.fresh = false
}

// take moves the sets that are ready out of m into a minute of their own and remembers them as folded; nil: none is.
func (m *minute) take(ready func(*set) bool) *minute {
	if len(m.cells) == 0 {
		return nil
	}
	out := newMinute()
	for id, s := range m.sets {
		if s != nil && ready(s) {
			out.sets[id] = s
			m.sets[id] = nil
		}
	}
	if len(out.sets) == 0 {
		return nil
	}
	taken := func(s *set) bool { return out.sets[s.epoch.id] == s }
	for g, c := range m.cells {
		mine := &cell{}
		for _, st := range c.states {
			if taken(st.set) {
				mine.states = append(mine.states, st)
			}
		}
		switch len(mine.states) {
		case 0:
			continue
		case len(c.states):
			delete(m.cells, g)
			out.cells[g] = c
			c.bounded = nil
			continue
		}
		out.cells[g] = mine
		c.states = slices.DeleteFunc(c.states, func(st *state) bool { return taken(st.set) })
		c.fresh = false
	}
	for _, s := range m.overflow {
		if taken(s) {
			out.overflow = append(out.overflow, s)
		}
	}
	m.overflow = slices.DeleteFunc(m.overflow, taken)
	for _, c := range m.cells {
		c.bounded = nil
	}
	m.all = cell{}
	return out
}
