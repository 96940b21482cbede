package board

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

// TestNoStateBreaksTheBoard sends what wire would let through and no processor would send: finals that disagree, sequences that
// jump, totals that cannot be added, clocks that are set back. The board's accounts hold and its limits too.
func TestNoStateBreaksTheBoard(t *testing.T) {
	for seed := range worlds() / 3 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 6))
			cfg := wallConfig()
			cfg.Event = r.IntN(2) == 0
			cfg.PointQueries = []string{"all", "global", "off"}[r.IntN(3)]
			cfg.MaxRules, cfg.MaxGroups, cfg.MaxEpochs = 3, 2, 6
			cfg.MaxLiveBytes, cfg.MaxPartBytes = 20_000, 20_000
			b := New(cfg)
			now := noon
			for range 300 {
				switch r.IntN(8) {
				case 0:
					now += r.Int64N(int64(3*time.Hour)) - int64(time.Hour)
				case 1:
					b.Publish(now)
				case 2:
					_ = b.Report(anyReport(r), now)
				default:
					_ = b.Accept(anyState(t, r, now), now)
				}
				checkAccounts(t, b)
			}
			for range 3 { // all that is live can be let go
				now += int64(27 * time.Hour)
				b.Publish(now)
			}
			if !cfg.Event {
				checkAccounts(t, b)
				s := b.Stats()
				require.Zero(t, s.LiveStates)
				require.Zero(t, s.Rules)
				require.Zero(t, s.Parts)
				require.Empty(t, b.epochs)
			}
		})
	}
}

func anyReport(r *rand.Rand) *wire.Report {
	return &wire.Report{
		Epoch: wire.Epoch{byte(r.IntN(9))}, Shard: fmt.Sprint(r.IntN(3)), Goodbye: r.IntN(9) == 0,
		Rules: []wire.RuleReport{{Rule: fmt.Sprint("rule-", r.IntN(5)), Records: r.Uint64(), Late: r.Uint64(), Dropped: r.Uint64()}},
	}
}

func anyState(t *testing.T, r *rand.Rand, now int64) *wire.State {
	d := ungrouped(t, fmt.Sprint("rule-", r.IntN(3)))
	if r.IntN(2) == 0 {
		d = grouped(t, d.Name)
	}
	d.K = 1 + r.IntN(20)
	d.Residents = 16 + r.IntN(32)
	d.Shape.Width = 16 << r.IntN(3)
	g := global
	if d.Grouped() {
		g = rule.Group{Scope: rule.ScopeGroup + rule.Scope(r.IntN(3))}
		if g.Scope == rule.ScopeGroup {
			g.Name = fmt.Sprint(r.IntN(5))
		}
	}
	sum, err := topk.New(d.Residents, d.Shape)
	require.NoError(t, err)
	for range r.IntN(100) {
		require.NoError(t, sum.Add(fmt.Sprint(r.IntN(200)), r.Uint64N([]uint64{2, 1000, math.MaxInt64 / 100}[r.IntN(3)])))
	}
	m := window.MinuteOf(now) - window.Minute(r.IntN(200)) + window.Minute(r.IntN(70))
	return &wire.State{
		Epoch: wire.Epoch{byte(r.IntN(9))}, Shard: fmt.Sprint(r.IntN(3)), Sequence: r.Uint64N(5), Final: r.IntN(2) == 0, Rule: d,
		Minute: m, Group: g, Groups: 1 + r.IntN(4), Newest: m.Start() + r.Int64N(int64(window.Bucket)), Summary: sum,
	}
}

// checkAccounts counts anew what Stats says.
func checkAccounts(t *testing.T, b *Board) {
	var s Stats
	for _, e := range b.epochs {
		if !e.gone {
			s.LiveEpochs++
		}
	}
	for _, r := range b.rules {
		for _, c := range r.definitions {
			if c.awake() {
				s.Rules++
			}
			s.Groups += len(c.groups)
			s.ListBytes += c.ruleRoom + int64(c.named)*c.room
			for _, m := range c.minutes {
				for _, at := range m.cells {
					for _, st := range at.states {
						s.LiveStates++
						s.LiveBytes += int64(st.bytes())
						require.NotNil(t, c.groups[st.group])
					}
				}
			}
			for _, p := range c.parts {
				s.Parts += len(p)
				for _, at := range p {
					s.PartBytes += int64(at.size)
				}
			}
			require.LessOrEqual(t, c.named, b.cfg.MaxGroups)
		}
	}
	got := b.Stats()
	want := got
	want.Rules, want.Groups, want.LiveEpochs, want.LiveStates, want.Parts = s.Rules, s.Groups, s.LiveEpochs, s.LiveStates, s.Parts
	want.LiveBytes, want.PartBytes, want.ListBytes = s.LiveBytes, s.PartBytes, s.ListBytes
	require.Equal(t, want, got)
	require.LessOrEqual(t, s.Rules, b.cfg.MaxRules)
	require.LessOrEqual(t, s.LiveEpochs, b.cfg.MaxEpochs)
	require.LessOrEqual(t, s.LiveBytes, 4*b.cfg.MaxLiveBytes)
}
