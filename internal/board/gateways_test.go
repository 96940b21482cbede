package board

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

func ascending(id byte) Config {
	cfg := wallConfig()
	cfg.Ascent = &Ascent{Sender: wire.Epoch{id}, Shard: "gateway", Final: func(*wire.State) {}}
	return cfg
}

func TestWhatAGatewaySentIsRefusedWhereItComesBack(t *testing.T) {
	b := New(ascending(1))
	s := newShard(t, 9, "other gateway", ungrouped(t, "rule"))
	s.add(noon, global, "x", 1)
	s.report.Through = []wire.Epoch{{9}, {1}}
	require.ErrorIs(t, b.Report(&s.report, noon), ErrLoop)
	require.ErrorIs(t, b.Accept(s.send(window.MinuteOf(noon), false)[0].State, noon), ErrLoop)
	assert.EqualValues(t, 2, b.Stats().Looped)
	assert.Zero(t, b.Stats().LiveEpochs, "it is no shard")

	s.report.Through = []wire.Epoch{{9}}
	require.NoError(t, b.Report(&s.report, noon), "the wiring was mended")
	accept(t, b, noon, s.send(window.MinuteOf(noon), false)...)
	assert.Equal(t, []wire.Epoch{{1}, {9}}, b.Through())
}

func TestMoreGatewaysThanAReportNamesAreRefused(t *testing.T) {
	b := New(ascending(1))
	d := ungrouped(t, "rule")
	through := func(from, n int) *wire.Report {
		r := &wire.Report{Epoch: wire.Epoch{2, byte(from)}, Rules: []wire.RuleReport{{Rule: d.Name}}}
		for i := range n {
			r.Through = append(r.Through, wire.Epoch(binary.BigEndian.AppendUint64(make([]byte, 8), uint64(from+i))))
		}
		return r
	}
	require.NoError(t, b.Report(through(1, wire.MaxThrough-1), noon))
	assert.Len(t, b.Through(), 1, "nothing of theirs came")
	s := newShard(t, 2, "gateway", d)
	s.epoch[1] = 1
	s.add(noon, global, "x", 1)
	accept(t, b, noon, s.send(window.MinuteOf(noon), false)...)
	assert.Len(t, b.Through(), wire.MaxThrough)
	require.ErrorIs(t, b.Report(through(5, wire.MaxThrough-1), noon), ErrOverloaded)
	require.NoError(t, b.Report(through(3, 100), noon), "all known")
}

func TestAListSaysWhatIsSilentBelowItsGateways(t *testing.T) {
	b := New(wallConfig())
	s := newShard(t, 9, "region", ungrouped(t, "rule"))
	s.add(noon, global, "x", 1)
	since := time.Unix(0, noon).UTC().Add(-time.Minute)
	s.report.Through = []wire.Epoch{{9}}
	s.report.Rules[0].Below = &wire.Below{Reporting: 3, Silent: 1, Gone: 2, SilentShards: []wire.SilentShard{{Shard: "a", Since: since}}}
	require.NoError(t, b.Report(&s.report, noon))
	accept(t, b, noon, s.send(window.MinuteOf(noon), false)...)
	got := b.Publish(noon).Changed[0].Snapshot
	assert.Equal(t, wire.Coverage{Reporting: 3, Silent: 1, Gone: 2, SilentShards: []wire.SilentShard{{Shard: "region/a", Since: since}}}, got.Coverage)
	assert.Equal(t, []string{reasonSilent, reasonShort}, got.PartialReasons)

	later := noon + int64(silentAfter)
	got = b.Publish(later).Changed[0].Snapshot
	assert.Equal(t, wire.Coverage{Silent: 1, SilentShards: []wire.SilentShard{{Shard: "region", Since: time.Unix(0, noon).UTC()}}}, got.Coverage)
}

func TestAGatewayTellsWhatItsShardsToldAlsoOfThoseItForgot(t *testing.T) {
	cfg := ascending(1)
	cfg.Shelf = newShelf()
	b := New(cfg)
	for i := range byte(3) {
		s := newShard(t, 10+i, "a", ungrouped(t, "rule"))
		s.report.Rules[0].Late = 5
		require.NoError(t, b.Report(&s.report, noon))
	}
	b.Publish(noon)
	require.EqualValues(t, 15, b.RuleReports(0)[0].Late)
	now := noon + int64(forgottenAfter) + int64(2*time.Hour)
	b.Publish(now)
	b.Publish(now + int64(forgottenAfter))
	require.Empty(t, b.epochs)
	assert.EqualValues(t, 15, b.RuleReports(0)[0].Late)
	assert.EqualValues(t, 15, restored(t, cfg, now).RuleReports(0)[0].Late)
}

func TestReplicasThatCountDifferentlyAreSaid(t *testing.T) {
	b := New(wallConfig())
	d := ungrouped(t, "rule")
	send := func(id byte, n uint64) {
		s := newShard(t, id, "replica", d)
		s.add(noon, global, "x", n)
		st := s.send(window.MinuteOf(noon), true)[0].State
		st.Sender, st.ReplicaSet = wire.Epoch{id}, "west"
		st.Epoch = wire.Epoch{id, 1}
		require.NoError(t, b.Report(&s.report, noon))
		require.NoError(t, b.Accept(st, noon))
	}
	last := func(now int64) *wire.Snapshot {
		var of *wire.Snapshot
		for _, c := range b.Publish(now).Changed {
			if c.Snapshot.Window == 24*time.Hour {
				of = c.Snapshot
			}
		}
		return of
	}
	send(1, 5)
	send(2, 5)
	s := last(noon)
	assert.EqualValues(t, 5, s.Total)
	assert.NotContains(t, s.PartialReasons, reasonDiffer)
	send(3, 7)
	s = last(noon)
	assert.EqualValues(t, 7, s.Total, "the larger one")
	assert.Contains(t, s.PartialReasons, reasonDiffer)
	assert.Equal(t, 3, s.Coverage.Reporting)

	folded := noon + int64(b.cfg.Retain+setBack+2*time.Minute)
	s = last(folded)
	require.Zero(t, b.Stats().LiveStates)
	assert.EqualValues(t, 7, s.Total)
	assert.Contains(t, s.PartialReasons, reasonDiffer)
}

func TestOpenStatesKeepTheirSequenceWhileTheyStandAndPassThatOfTheProcessBefore(t *testing.T) {
	cfg := ascending(1)
	cfg.Shelf = newShelf()
	b := New(cfg)
	s := newShard(t, 9, "a", grouped(t, "rule"))
	s.add(noon, rule.Group{Scope: rule.ScopeGroup, Name: "x"}, "key", 1)
	s.add(noon, rule.Group{Scope: rule.ScopeGroup, Name: "y"}, "key", 1)
	accept(t, b, noon, s.send(window.MinuteOf(noon), false)...)
	first := b.Open(noon)
	require.Len(t, first, 2)
	s.add(noon, rule.Group{Scope: rule.ScopeGroup, Name: "y"}, "key", 1)
	accept(t, b, noon, s.send(window.MinuteOf(noon), false)[1])
	second := b.Open(noon)
	assert.Equal(t, first[0].Sequence, second[0].Sequence)
	assert.Greater(t, second[1].Sequence, first[1].Sequence)
	assert.Equal(t, first[1].Epoch, second[1].Epoch)
	before := noon - int64(setBack) // the clock was set back
	third := restored(t, cfg, before).Open(before)
	assert.Equal(t, first[1].Epoch, third[1].Epoch)
	assert.Greater(t, third[0].Sequence, second[1].Sequence)
}

func TestASenderOfALoopStaysOutHoweverManyThereAre(t *testing.T) {
	b := New(ascending(1))
	s := newShard(t, 9, "other gateway", ungrouped(t, "rule"))
	s.add(noon, global, "x", 1)
	for i := range 2 * wire.MaxThrough {
		r := &wire.Report{Epoch: wire.Epoch{2, byte(i), byte(i >> 8)}, Through: []wire.Epoch{{1}}}
		require.ErrorIs(t, b.Report(r, noon), ErrLoop)
		assert.LessOrEqual(t, len(b.looped), wire.MaxThrough)
		s.epoch = r.Epoch
		for _, m := range s.send(window.MinuteOf(noon), false) { // of the same request
			m.Epoch = r.Epoch
			require.ErrorIs(t, b.Accept(m.State, noon), ErrLoop)
		}
	}
	assert.Len(t, b.looped, wire.MaxThrough)
	assert.Zero(t, b.Stats().LiveEpochs)
}

func TestMoreRulesThanAReportHoldsAreToldInTurn(t *testing.T) {
	cfg := ascending(1)
	cfg.MaxRules = 2*wire.MaxReportRules + 5
	b := New(cfg)
	var names []string
	r := &wire.Report{Epoch: wire.Epoch{2}}
	for i := range cfg.MaxRules {
		name := fmt.Sprintf("rule-%05d", i)
		names = append(names, name)
		r.Rules = append(r.Rules, wire.RuleReport{Rule: name, Late: uint64(i)})
	}
	require.NoError(t, b.Report(r, noon))
	told := map[string]uint64{}
	for turn := uint64(0); turn < uint64(3*len(names)); turn += wire.MaxReportRules {
		all := b.RuleReports(turn)
		require.Len(t, all, wire.MaxReportRules)
		for _, of := range all {
			told[of.Rule] = of.Late
		}
	}
	for i, name := range names {
		require.Equal(t, uint64(i), told[name], name)
	}
}

func TestWhatIsForgottenOfTooManyRulesIsCounted(t *testing.T) {
	cfg := ascending(1)
	cfg.MaxRules = 2 * wire.MaxReportRules
	b := New(cfg)
	for epoch := range 2 {
		r := &wire.Report{Epoch: wire.Epoch{2, byte(epoch)}}
		for i := range cfg.MaxRules {
			r.Rules = append(r.Rules, wire.RuleReport{Rule: fmt.Sprint(epoch, "-", i), Late: 1})
		}
		require.NoError(t, b.Report(r, noon))
	}
	now := noon + int64(forgottenAfter) + int64(2*time.Hour)
	b.Publish(now)
	b.Publish(now + int64(forgottenAfter))
	require.Empty(t, b.epochs)
	assert.Len(t, b.told, cfg.MaxRules)
	assert.EqualValues(t, cfg.MaxRules, b.Stats().Untold)
}

// States, each of which a request can hold, may be too large as one: the gateways above are told that something is missing.
func TestAFoldThatIsTooLargeToGoUpIsCountedAndTold(t *testing.T) {
	cfg := ascending(1)
	cfg.Shelf, cfg.MaxListBytes, cfg.MaxLiveBytes = newShelf(), 64<<30, 1<<30
	var finals []*wire.State
	cfg.Ascent.Final = func(s *wire.State) { finals = append(finals, s) }
	b := New(cfg)
	d := ungrouped(t, "rule")
	d.Residents, d.K, d.MaxKeyBytes = 3000, 500, topk.MaxKeyBytes
	for id := range byte(3) {
		s := newShard(t, 10+id, "a", d)
		require.NoError(t, b.Report(&s.report, noon))
		for i := range 7 << 20 / topk.MaxKeyBytes {
			s.add(noon, global, strings.Repeat(fmt.Sprintf("%02d-%05d", id, i), topk.MaxKeyBytes/8), 1)
		}
		accept(t, b, noon, s.send(window.MinuteOf(noon), true)...)
	}
	b.Publish(noon + int64(time.Minute))
	assert.Empty(t, finals)
	assert.EqualValues(t, 1, b.Stats().Oversized)
	assert.EqualValues(t, 1, b.RuleReports(0)[0].Dropped)
	assert.EqualValues(t, 1, restored(t, cfg, noon).RuleReports(0)[0].Dropped)
}
