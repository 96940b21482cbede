package board

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

// noon of 15 November 2023, UTC, is where the tests begin.
const noon = int64(1_700_049_600 * time.Second)

func ungrouped(t testing.TB, name string) *rule.Definition {
	shape, err := topk.NewShape(0.001, 0.01, 7)
	require.NoError(t, err)
	return &rule.Definition{
		Name: name, Signals: []string{"logs"}, Key: []string{`log.attributes["k"]`}, Weight: "1", WeightScale: 1,
		K: 10, MaxKeyBytes: 256, Residents: 640, Shape: shape,
	}
}

func grouped(t testing.TB, name string) *rule.Definition {
	d := ungrouped(t, name)
	d.GroupBy = `resource.attributes["g"]`
	return d
}

// truth is exact counts by the group that records are of, wherever they were counted.
type truth map[rule.Group]map[string]uint64

func (t truth) add(g rule.Group, key string, weight uint64) {
	if t[g] == nil {
		t[g] = map[string]uint64{}
	}
	t[g][key] += weight
}

func (t truth) clone() truth {
	c := truth{}
	for g, keys := range t {
		c[g] = maps.Clone(keys)
	}
	return c
}

// message is a state as it was sent, and what it counts.
type message struct {
	*wire.State
	truth truth
}

// shard counts as a processor does and makes its messages.
type shard struct {
	t         testing.TB
	epoch     wire.Epoch
	name      string
	rule      *rule.Definition
	maxGroups int
	minutes   map[window.Minute]map[rule.Group]*message
	report    wire.Report
}

func newShard(t testing.TB, n byte, name string, d *rule.Definition) *shard {
	return &shard{
		t: t, epoch: wire.Epoch{n}, name: name, rule: d, maxGroups: 500, minutes: map[window.Minute]map[rule.Group]*message{},
		report: wire.Report{Epoch: wire.Epoch{n}, Shard: name, Rules: []wire.RuleReport{{Rule: d.Name}}},
	}
}

// add counts a record.
func (s *shard) add(ns int64, g rule.Group, key string, weight uint64) {
	m := window.MinuteOf(ns)
	of := s.minutes[m]
	if of == nil {
		of = map[rule.Group]*message{}
		s.minutes[m] = of
	}
	place := g
	if g.Scope == rule.ScopeGroup && of[g] == nil && s.named(m) >= s.maxGroups {
		place = overflow
	}
	st := of[place]
	if st == nil {
		sum, err := topk.New(s.rule.Residents, s.rule.Shape)
		require.NoError(s.t, err)
		st = &message{&wire.State{Epoch: s.epoch, Shard: s.name, Rule: s.rule, Minute: m, Group: place, Summary: sum}, truth{}}
		of[place] = st
	}
	require.NoError(s.t, st.Summary.Add(key, weight))
	st.truth.add(g, key, weight)
	st.Newest = max(st.Newest, ns)
	s.report.Rules[0].Records++
}

func (s *shard) named(m window.Minute) int {
	n := 0
	for g := range s.minutes[m] {
		if g.Scope == rule.ScopeGroup {
			n++
		}
	}
	return n
}

// send makes the states of a minute as they are now, in the order of their groups.
func (s *shard) send(m window.Minute, final bool) []message {
	var sent []message
	for _, g := range sorted(s.minutes[m]) {
		st := s.minutes[m][g]
		st.Sequence++
		st.Final = final
		st.Groups = len(s.minutes[m])
		out := *st.State
		out.Summary = st.Summary.Clone()
		sent = append(sent, message{&out, st.truth.clone()})
	}
	return sent
}

func accept(t testing.TB, b *Board, now int64, states ...message) {
	t.Helper()
	for _, s := range states {
		require.NoError(t, b.Accept(s.State, now))
	}
}
