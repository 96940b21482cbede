package board

import (
	"bytes"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire"
)

// The law of replicas. Gateways of one replica set see the same records. Of one minute, group and replica set the states of the
// sender that has the most weight count, and those of the others lie in the shadow, in no sum. Their sets stay live until nothing
// more is taken of the minute: nothing is ever subtracted.

func newSet(m *minute, s *wire.State, e *epoch) *set {
	m.replicas = m.replicas || s.ReplicaSet != ""
	return &set{id: s.Epoch, epoch: e, replica: s.ReplicaSet, states: map[rule.Group]*state{}}
}

// choose whose states of g count, after one of the set at has changed.
func (m *minute) choose(at *set, g rule.Group) {
	if at.replica == "" {
		return
	}
	weights := map[*epoch]uint64{}
	var best *epoch
	for _, s := range m.sets {
		if st := s.states[g]; st != nil && s.replica == at.replica {
			weights[s.epoch] += st.weight
		}
	}
	for e, w := range weights {
		if best == nil || w > weights[best] || w == weights[best] && bytes.Compare(e.id[:], best.id[:]) < 0 {
			best = e
		}
	}
	for _, s := range m.sets {
		st := s.states[g]
		if st == nil || s.replica != at.replica {
			continue
		}
		switch shadowed := s.epoch != best; {
		case shadowed && !st.shadowed:
			m.leave(st)
			st.shadowed = true
			m.unbound()
		case !shadowed && st.shadowed:
			st.shadowed = false
			m.enter(st)
			m.changed(st)
			m.unbound()
		}
	}
}

// differs says whether two replicas, of which all has come, counted different weights.
func (m *minute) differs() bool {
	if !m.replicas {
		return false
	}
	if m.differ == nil {
		d := m.compareReplicas()
		m.differ = &d
	}
	return *m.differ
}

// sender is a replica.
type sender struct {
	set   string
	epoch *epoch
}

func (m *minute) compareReplicas() bool {
	partly := map[sender]bool{}
	for _, s := range m.sets {
		if s.replica != "" && !s.complete() {
			partly[sender{s.replica, s.epoch}] = true
		}
	}
	weights := map[sender]map[rule.Group]uint64{}
	for _, s := range m.sets {
		of := sender{s.replica, s.epoch}
		if s.replica == "" || partly[of] {
			continue
		}
		if weights[of] == nil {
			weights[of] = map[rule.Group]uint64{}
		}
		for g, st := range s.states {
			weights[of][g] += st.weight
		}
	}
	first := map[string]map[rule.Group]uint64{}
	for of, w := range weights {
		other, ok := first[of.set]
		if !ok {
			first[of.set] = w
			continue
		}
		if !sameWeights(w, other) {
			return true
		}
	}
	return false
}

func sameWeights(a, b map[rule.Group]uint64) bool {
	if len(a) != len(b) {
		return false
	}
	for g, w := range a {
		if o, ok := b[g]; !ok || o != w {
			return false
		}
	}
	return true
}

// addDiffering counts the live minutes of each window in which replicas differ.
func (c *counted) addDiffering(s span, sums []incidents) []incidents {
	for at, m := range c.minutes {
		if !m.replicas || at > s.newest || !m.differs() {
			continue
		}
		for i, start := range s.starts {
			if at >= start {
				sums[i].differ++
			}
		}
	}
	return sums
}
