package wire_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/wire"
)

func TestAReportReadsBackAsItWasWritten(t *testing.T) {
	for name, want := range map[string]*wire.Report{
		"hello":   {Epoch: wire.Epoch{9}, Shard: "a"},
		"goodbye": {Epoch: wire.Epoch{9}, Goodbye: true},
		"of rules": {Epoch: wire.Epoch{9}, Shard: "a", Rules: []wire.RuleReport{
			{Rule: "tenants", Records: 1 << 62, Late: 2, Future: 3, Dropped: 4},
			{Rule: "paths"},
		}},
		"of a gateway": gatewayReport(),
	} {
		t.Run(name, func(t *testing.T) {
			ld := plog.NewLogs()
			wire.AppendReport(ld, want)
			assert.Equal(t, want, only[*wire.Report](t, ld))
		})
	}
}

// gatewayReport names one silent shard for two rules.
func gatewayReport() *wire.Report {
	silent := wire.SilentShard{Shard: "a", Since: time.Unix(1_700_000_000, 5).UTC()}
	return &wire.Report{
		Epoch: wire.Epoch{4, 5}, Shard: "west", Through: []wire.Epoch{{4, 5}, {6}},
		Rules: []wire.RuleReport{
			{Rule: "tenants", Records: 7, Below: &wire.Below{Reporting: 3, Silent: 2, Gone: 1, SilentShards: []wire.SilentShard{
				{Shard: "b", Since: silent.Since.Add(-time.Hour)}, silent,
			}}},
			{Rule: "paths", Below: &wire.Below{Silent: 1, SilentShards: []wire.SilentShard{silent}}},
			{Rule: "quiet", Below: &wire.Below{}},
		},
	}
}

func TestAReportThatNamesMoreSilentShardsThanItMayIsCut(t *testing.T) {
	r := &wire.Report{Epoch: wire.Epoch{1}}
	for i := range 60 {
		below := &wire.Below{}
		for j := range 25 {
			below.SilentShards = append(below.SilentShards, wire.SilentShard{Shard: fmt.Sprint(i, j), Since: time.Unix(0, 0).UTC()})
		}
		r.Rules = append(r.Rules, wire.RuleReport{Rule: fmt.Sprint(i), Below: below})
	}
	ld := plog.NewLogs()
	wire.AppendReport(ld, r)
	got := only[*wire.Report](t, ld)
	n := 0
	for i := range got.Rules {
		assert.LessOrEqual(t, len(got.Rules[i].Below.SilentShards), wire.MaxSilentShards)
		n += len(got.Rules[i].Below.SilentShards)
	}
	assert.Equal(t, wire.MaxSilentBelow, n)
}

func TestALongShardLabelIsCutAtTheEdgeOfARune(t *testing.T) {
	for name, tt := range map[string]struct{ shard, want string }{
		"as long as allowed": {strings.Repeat("a", wire.MaxShardBytes), strings.Repeat("a", wire.MaxShardBytes)},
		"longer":             {strings.Repeat("a", 1000), strings.Repeat("a", wire.MaxShardBytes)},
		"of long runes":      {strings.Repeat("€", 100), strings.Repeat("€", wire.MaxShardBytes/3)},
		"not UTF-8":          {"a\xffb", "a\uFFFDb"},
	} {
		t.Run(name, func(t *testing.T) {
			ld := plog.NewLogs()
			wire.AppendReport(ld, &wire.Report{Epoch: wire.Epoch{1}, Shard: tt.shard})
			assert.Equal(t, tt.want, only[*wire.Report](t, ld).Shard)
			s := state(t)
			s.Shard = tt.shard
			ld = plog.NewLogs()
			_, err := wire.AppendState(ld, s)
			require.NoError(t, err)
			assert.Equal(t, tt.want, only[*wire.State](t, ld).Shard)
		})
	}
}

func TestRecordsOfOneKindStandUnderOneScope(t *testing.T) {
	ld := plog.NewLogs()
	wire.AppendReport(ld, &wire.Report{Epoch: wire.Epoch{1}})
	for range 3 {
		_, err := wire.AppendState(ld, state(t))
		require.NoError(t, err)
	}
	require.Equal(t, 1, ld.ResourceLogs().Len())
	scopes := ld.ResourceLogs().At(0).ScopeLogs()
	require.Equal(t, 2, scopes.Len())
	assert.Equal(t, wire.ScopeReport, scopes.At(0).Scope().Name())
	assert.Equal(t, 3, scopes.At(1).LogRecords().Len())
}

// only is the one message or publication that ld holds.
func only[M any](t testing.TB, ld plog.Logs) M {
	require.Equal(t, 1, ld.LogRecordCount())
	read := wire.Messages
	switch name := ld.ResourceLogs().At(0).ScopeLogs().At(0).Scope().Name(); name {
	case wire.ScopeSnapshot, wire.ScopeSummary, wire.ScopeRollup:
		read = wire.Publications
	}
	var got M
	for m, err := range read(ld) {
		require.NoError(t, err)
		got = m.(M)
	}
	return got
}

// emptyLike is ld without its records.
func emptyLike(ld plog.Logs) plog.Logs {
	empty := plog.NewLogs()
	ld.CopyTo(empty)
	for _, rl := range empty.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			sl.LogRecords().RemoveIf(func(plog.LogRecord) bool { return true })
		}
	}
	return empty
}
