package board

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

// TestNoShardCanMakeTheCountsOfAnotherVanish: a shard sends all the weight it is let send, in every minute of a day, as weight, as
// records and as hidden weight. What an honest shard sends is in every list, and nothing is left out as it cannot be added.
func TestNoShardCanMakeTheCountsOfAnotherVanish(t *testing.T) {
	cfg := wallConfig()
	cfg.MaxEpochs, cfg.MaxListBytes = 10, 1<<30
	b := New(cfg)
	d := grouped(t, "rule")
	d.Shape.Width, d.Residents, d.K = 16, 16, 10
	honest := newShard(t, 1, "honest", d)
	now := noon
	share := b.cfg.share()
	refused := 0
	for range 26 * 60 {
		now += int64(window.Bucket)
		m := window.MinuteOf(now)
		honest.add(now, rule.Group{Scope: rule.ScopeGroup, Name: "a"}, "key", share/1000)
		honest.add(now, rule.Group{Scope: rule.ScopeMissing}, "key", 1)
		for n := byte(2); n < 9; n++ {
			for weight := uint64(1) << 62; weight > 0; weight /= 2 {
				s := heavy(t, d, n, m, weight)
				if b.Accept(s, now) == nil {
					break
				}
				refused++
			}
		}
		accept(t, b, now, honest.send(m, true)...)
		delete(honest.minutes, m)
		p := b.Publish(now)
		for _, l := range p.Changed {
			require.LessOrEqual(t, l.Snapshot.TotalUpper, uint64(topk.MaxTotal))
		}
	}
	assert.Positive(t, refused)
	assert.EqualValues(t, refused, b.Stats().TooHeavy)
	require.Zero(t, b.Stats().Unmerged)
	now += int64(window.Bucket)
	for _, l := range b.Publish(now).Changed {
		if l.Snapshot.Group.Name != "a" {
			continue
		}
		minutes := uint64(window.MinuteOf(now) - window.MinuteOf(l.Snapshot.WindowStart.UnixNano()))
		require.EqualValues(t, minutes*(share/1000), l.Snapshot.Total)
	}
}

// heavy is the one state of its set: of scope overflow, so that its weight is hidden in every other list too.
func heavy(t *testing.T, d *rule.Definition, epoch byte, m window.Minute, weight uint64) *wire.State {
	s, err := topk.New(d.Residents, d.Shape)
	require.NoError(t, err)
	require.NoError(t, s.Add("heavy", weight))
	return &wire.State{
		Epoch: wire.Epoch{epoch}, Shard: "heavy", Sequence: 1, Final: true, Rule: d, Minute: m, Group: overflow, Groups: 1, Summary: s,
	}
}

// TestAShardWithinItsShareIsAlwaysTaken: also when all the others have drawn what there is.
func TestAShardWithinItsShareIsAlwaysTaken(t *testing.T) {
	cfg := wallConfig()
	cfg.MaxEpochs = 20
	b := New(cfg)
	d := grouped(t, "rule")
	m := window.MinuteOf(noon)
	free := poolWeight
	for n := byte(1); n < 20; n++ {
		require.ErrorIs(t, b.Accept(heavy(t, d, n, m, b.cfg.share()+free/2+1), noon), ErrWeight)
		require.NoError(t, b.Accept(heavy(t, d, n, m, b.cfg.share()+free/2), noon))
		free -= free / 2
	}
	err := b.Accept(heavy(t, d, 20, m, b.cfg.share()+poolWeight/100), noon)
	require.ErrorIs(t, err, ErrWeight)
	require.NoError(t, b.Accept(heavy(t, d, 20, m, b.cfg.share()), noon))
	require.LessOrEqual(t, b.rules["rule"].definitions[d.Fingerprint()].minutes[m].drawn, poolWeight)
	assert.Greater(t, b.cfg.share(), uint64(1)<<43)
}

// TestCountsOfReportsNeverWrap: what shards report is added up to the largest number and no further.
func TestCountsOfReportsNeverWrap(t *testing.T) {
	b := New(wallConfig())
	for n := byte(1); n < 4; n++ {
		s := newShard(t, n, "s", ungrouped(t, "rule"))
		s.add(noon, global, "k", 1)
		accept(t, b, noon, s.send(window.MinuteOf(noon), true)...)
		s.report.Rules[0].Late, s.report.Rules[0].Records = math.MaxUint64, math.MaxUint64
		require.NoError(t, b.Report(&s.report, noon))
	}
	for _, l := range b.Publish(noon).Changed {
		assert.EqualValues(t, uint64(math.MaxUint64), l.Snapshot.Coverage.Late)
		assert.Contains(t, l.Snapshot.PartialReasons, reasonLate)
	}
}
