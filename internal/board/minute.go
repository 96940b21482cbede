package board

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire"
)

// minute holds what is live of one rule and minute, and who was folded.
type minute struct {
	sets     map[wire.Epoch]*set
	folded   map[wire.Epoch]bool // true: in parts; false: soon
	unknown  bool                // who was folded: nothing of a set that is not live is taken
	ripe     int                 // sets that are
	folds    uint64              // how often sets were folded, with an Ascent
	expires  int64               // wall time from which nothing more is taken
	drawn    uint64
	replicas bool  // some of the sets are of replicas
	differ   *bool // two of them counted different totals; nil: to be found out

	cells    map[rule.Group]*cell
	all      memo   // of a grouped rule: the sum of all cells
	overflow []*set // those with an overflow
}

// set is what one process counted, or a gateway folded at one time, in one minute under one rule. It is complete when as many
// final states have come as it has groups; what of it was not final then was never answered, and is counted no more.
type set struct {
	id       wire.Epoch
	epoch    *epoch // of its sender
	replica  string // the replica set of its sender; "": it has none
	states   map[rule.Group]*state
	groups   int // as the last final said
	finals   int
	weight   uint64
	overflow memo // of the states that count there
}

// state is the newest of its epoch, minute and group.
type state struct {
	set      *set
	of       rule.Group
	group    rule.Group // where it counts: its own, or overflow where the gateway has no place for its own
	sequence uint64
	newest   int64 // as of wire.State
	weight   uint64
	final    bool
	shadowed bool // another replica's counts
	encoded  []byte
}

// cell is the live part of one minute and group.
type cell struct {
	states  []*state
	own     memo
	bounded memo // with the overflow of the sets that lack the group
	rising  rising
}

func newMinute() *minute {
	return &minute{sets: map[wire.Epoch]*set{}, folded: map[wire.Epoch]bool{}, cells: map[rule.Group]*cell{}}
}

func (s *set) complete() bool { return s.finals > 0 && s.finals >= s.groups }

// ripe sets are folded. Those of replicas are kept apart until nothing more is taken.
func (s *set) ripe() bool { return s.replica == "" && s.complete() }

// lacks says whether records of g may be in the set's overflow and in no state of g that counts.
func (s *set) lacks(g rule.Group) bool {
	st := s.states[g]
	return st == nil || st.group != g || st.shadowed
}

// newer says whether s is to replace st: the highest sequence does, final beats any.
func (st *state) newer(s *wire.State) bool {
	if s.Final != st.final {
		return s.Final
	}
	return s.Sequence > st.sequence
}

// bytes that a state takes.
func (st *state) bytes() int { return stateBytes + len(st.of.Name) + len(st.encoded) }

func compareStates(a, b *state) int {
	return cmp.Or(bytes.Compare(a.set.id[:], b.set.id[:]), compareGroups(a.of, b.of))
}

// add makes room for a state that is the first of its group in its set.
func (m *minute) add(st *state) {
	st.set.states[st.of] = st
	m.enter(st)
}

// enter a state among those that count.
func (m *minute) enter(st *state) {
	if st.group == overflow && !slices.Contains(m.overflow, st.set) {
		m.overflow = append(m.overflow, st.set)
	}
	c := m.cells[st.group]
	if c == nil {
		c = &cell{}
		m.cells[st.group] = c
	}
	// In the order of their epochs, so that the same states always make the same sums.
	at, _ := slices.BinarySearchFunc(c.states, st, compareStates)
	c.states = slices.Insert(c.states, at, st)
}

// drop takes a state out.
func (m *minute) drop(st *state) {
	delete(st.set.states, st.of)
	if !st.shadowed {
		m.leave(st)
	}
}

// leave takes a state out of those that count.
func (m *minute) leave(st *state) {
	m.changed(st)
	c := m.cells[st.group]
	c.states = slices.DeleteFunc(c.states, func(o *state) bool { return o == st })
	if len(c.states) == 0 {
		delete(m.cells, st.group)
	}
	overflows := false
	for _, o := range st.set.states {
		overflows = overflows || o != st && o.group == overflow && !o.shadowed
	}
	if !overflows {
		m.overflow = slices.DeleteFunc(m.overflow, func(s *set) bool { return s == st.set })
	}
}

// changed forgets what was summed up of a state's group.
func (m *minute) changed(st *state) {
	m.differ = nil
	if st.shadowed {
		return
	}
	c := m.cells[st.group]
	c.own.fresh, c.bounded.fresh, c.rising.fresh = false, false, false
	if st.group == overflow {
		st.set.overflow.fresh = false
		m.unbound()
	}
	m.all.fresh = false
}

// take moves the sets that are ready out of m into a minute of their own and remembers them as folded; nil: none is.
func (m *minute) take(ready func(*set) bool) *minute {
	out := newMinute()
	for id, s := range m.sets {
		if ready(s) {
			out.sets[id] = s
			m.folded[id] = false
			delete(m.sets, id)
			if s.ripe() {
				m.ripe--
			}
		}
	}
	if len(out.sets) == 0 {
		return nil
	}
	taken := func(s *set) bool { return out.sets[s.id] == s }
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
			continue
		}
		out.cells[g] = mine
		c.states = slices.DeleteFunc(c.states, func(st *state) bool { return taken(st.set) })
		c.own.fresh, c.rising.fresh = false, false
	}
	for _, s := range m.overflow {
		if taken(s) {
			out.overflow = append(out.overflow, s)
		}
	}
	m.overflow = slices.DeleteFunc(m.overflow, taken)
	m.unbound()
	out.unbound()
	m.all.fresh, m.differ = false, nil
	out.replicas = m.replicas
	return out
}

// unbound forgets which cells are bounded by which overflow.
func (m *minute) unbound() {
	for _, c := range m.cells {
		c.bounded.fresh, c.rising.fresh = false, false
	}
}
