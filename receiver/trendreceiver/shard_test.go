package trendreceiver

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

// shard sends cumulative states of one rule as a topk processor would.
type shard struct {
	t        testing.TB
	epoch    wire.Epoch
	rule     *rule.Definition
	sequence uint64
}

func newShard(t testing.TB, id byte) *shard {
	return &shard{t: t, epoch: wire.Epoch{id}, rule: &rule.Definition{
		Name:        "tenants",
		Signals:     []string{rule.SignalLogs},
		Key:         []string{`log.attributes["tenant.id"]`},
		Weight:      rule.WeightOne,
		WeightScale: 1,
		K:           3,
		MaxKeyBytes: 256,
		Residents:   32,
		Shape:       topk.Shape{Width: 64, Depth: 3},
	}}
}

// grouped makes the rule one with groups.
func (s *shard) grouped() *shard {
	s.rule.GroupBy = `resource.attributes["cloud.region"]`
	return s
}

// state of the minute of now.
func (s *shard) state(now time.Time, g rule.Group, weights map[string]uint64) *wire.State {
	summary, err := topk.New(s.rule.Residents, s.rule.Shape)
	require.NoError(s.t, err)
	for key, w := range weights {
		require.NoError(s.t, summary.Add(key, w))
	}
	s.sequence++
	return &wire.State{
		Epoch:    s.epoch,
		Shard:    "shard",
		Sequence: s.sequence,
		Rule:     s.rule,
		Minute:   window.MinuteOf(now.UnixNano()),
		Group:    g,
		Groups:   1,
		Newest:   now.UnixNano(),
		Summary:  summary,
	}
}

// request of the states, behind a report.
func (s *shard) request(states ...*wire.State) plog.Logs {
	ld := plog.NewLogs()
	wire.AppendReport(ld, &wire.Report{Epoch: s.epoch, Shard: "shard"})
	for _, st := range states {
		_, err := wire.AppendState(ld, st)
		require.NoError(s.t, err)
	}
	return ld
}

// requestAt is a request that says what was counted in a group in the minute of now.
func (s *shard) requestAt(now time.Time, group string, weights map[string]uint64) plog.Logs {
	return s.request(s.state(now, rule.Group{Scope: rule.ScopeGroup, Name: group}, weights))
}

// counted is a request that says what was counted by now.
func (s *shard) counted(weights map[string]uint64) plog.Logs {
	return s.request(s.state(time.Now(), rule.Group{}, weights))
}

func (s *shard) countedIn(group string, weights map[string]uint64) plog.Logs {
	return s.requestAt(time.Now(), group, weights)
}

// foreign adds the log of an application to ld.
func foreign(ld plog.Logs) plog.Logs {
	sl := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty()
	sl.Scope().SetName("my.app")
	sl.LogRecords().AppendEmpty().Body().SetStr("private")
	return ld
}
