package board

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

// noon is where the tests' time begins: a whole hour.
const noon = int64(1_700_006_400 * time.Second)

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

// shard counts as a processor does and makes its messages.
type shard struct {
	t      testing.TB
	epoch  wire.Epoch
	name   string
	rule   *rule.Definition
	states map[window.Minute]map[rule.Group]*wire.State
	report wire.Report
}

func newShard(t testing.TB, n byte, name string, d *rule.Definition) *shard {
	return &shard{
		t: t, epoch: wire.Epoch{n}, name: name, rule: d, states: map[window.Minute]map[rule.Group]*wire.State{},
		report: wire.Report{Epoch: wire.Epoch{n}, Shard: name, Rules: []wire.RuleReport{{Rule: d.Name}}},
	}
}

// add counts a record and returns its state, as it is then.
func (s *shard) add(ns int64, g rule.Group, key string, weight uint64) {
	m := window.MinuteOf(ns)
	of := s.states[m]
	if of == nil {
		of = map[rule.Group]*wire.State{}
		s.states[m] = of
	}
	st := of[g]
	if st == nil {
		sum, err := topk.New(s.rule.Residents, s.rule.Shape)
		require.NoError(s.t, err)
		st = &wire.State{Epoch: s.epoch, Shard: s.name, Rule: s.rule, Minute: m, Group: g, Summary: sum}
		of[g] = st
	}
	require.NoError(s.t, st.Summary.Add(key, weight))
	st.Newest = max(st.Newest, ns)
	s.report.Rules[0].Records++
}

// send makes the states of a minute as they are now, in the order of their groups.
func (s *shard) send(m window.Minute, final bool) []*wire.State {
	var sent []*wire.State
	for _, g := range sorted(s.states[m]) {
		st := s.states[m][g]
		st.Sequence++
		st.Final = final
		st.Groups = len(s.states[m])
		encoded, err := st.Summary.AppendBinary(nil)
		require.NoError(s.t, err)
		out := *st
		out.Encoded = encoded
		sent = append(sent, &out)
	}
	return sent
}

func accept(t testing.TB, b *Board, now int64, states ...*wire.State) {
	t.Helper()
	for _, s := range states {
		require.NoError(t, b.Accept(s, now))
	}
}
