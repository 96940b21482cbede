package wire_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

func TestASnapshotReadsBackAsItWasWritten(t *testing.T) {
	for name, change := range map[string]func(*wire.Snapshot){
		"as it is":          func(*wire.Snapshot) {},
		"of one group":      func(s *wire.Snapshot) { s.Group = rule.Group{Scope: rule.ScopeGroup, Name: "eu"} },
		"of a nameless one": func(s *wire.Snapshot) { s.Group = rule.Group{Scope: rule.ScopeGroup} },
		"of missing groups": func(s *wire.Snapshot) { s.Group = rule.Group{Scope: rule.ScopeMissing} },
		"before any record": func(s *wire.Snapshot) {
			*s = wire.Snapshot{Rule: s.Rule, Window: s.Window, List: topk.List{K: 10}.First(10)}
		},
		"with huge counts":   func(s *wire.Snapshot) { s.TotalUpper, s.List.Theta = math.MaxUint64, 1<<63; s.List = s.List.First(10) },
		"of a composite key": func(s *wire.Snapshot) { s.Rule.Key = []string{"log.body", "log.flags"} },
		"without conflicts":  func(s *wire.Snapshot) { s.Conflicts = nil },
		"whole":              func(s *wire.Snapshot) { s.PartialReasons, s.Coverage = nil, wire.Coverage{Reporting: 1} },
		"with one longest":   func(s *wire.Snapshot) { s.Window = 24 * time.Hour },
		"exact":              func(s *wire.Snapshot) { s.Approximate = false },
	} {
		t.Run(name, func(t *testing.T) {
			want := snapshot(t)
			change(want)
			ld := plog.NewLogs()
			size := wire.AppendSnapshot(ld, want)
			assert.InDelta(t, requestSize(ld)-requestSize(emptyLike(ld)), size, 8)
			assert.Equal(t, want, only[*wire.Snapshot](t, ld))
		})
	}
}

func TestASnapshotIsReadableAsItIs(t *testing.T) {
	s := snapshot(t)
	s.Rule.Key = []string{"log.body", "log.flags"}
	s.List.Items[0].Key = `["a,b","c"]`
	ld := plog.NewLogs()
	wire.AppendSnapshot(ld, s)
	lr := ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0)

	assert.Equal(t, s.AsOf, lr.Timestamp().AsTime())
	assert.Equal(t, map[string]any{
		"rule": "tenants", "window": "5m", "scope": "global", "certified": s.List.Certified, "partial": true,
	}, lr.Attributes().AsRaw())
	body := lr.Body().Map().AsRaw()
	assert.Equal(t, "2026-01-02T03:04:05.000000006Z", body["as_of"])
	first := body["items"].([]any)[0].(map[string]any)
	assert.Equal(t, []any{"a,b", "c"}, first["parts"])
	assert.EqualValues(t, 1, first["rank"])
	assert.EqualValues(t, 0, first["error_bound"])
	assert.NotContains(t, fmt.Sprint(body["definition"]), "seed")
}

func TestAWindowSummaryReadsBackAsItWasWritten(t *testing.T) {
	for name, g := range map[string]rule.Group{
		"of all":      {},
		"of a group":  {Scope: rule.ScopeGroup, Name: "eu"},
		"of overflow": {Scope: rule.ScopeOverflow},
	} {
		t.Run(name, func(t *testing.T) {
			want := windowSummary(t)
			want.Group = g
			ld := plog.NewLogs()
			size, err := wire.AppendWindowSummary(ld, want)
			require.NoError(t, err)
			assert.InDelta(t, requestSize(ld)-requestSize(emptyLike(ld)), size, 8)

			got := only[*wire.WindowSummary](t, ld)
			a, err := want.Summary.AppendBinary(nil)
			require.NoError(t, err)
			b, err := got.Summary.AppendBinary(nil)
			require.NoError(t, err)
			assert.Equal(t, a, b)
			got.Summary, want.Summary = nil, nil
			assert.Equal(t, want, got)
		})
	}
}

func TestAWindowSummaryThatNoReaderTakesIsNotWritten(t *testing.T) {
	for want, change := range map[string]func(*wire.WindowSummary){
		"window":            func(w *wire.WindowSummary) { w.Window = 90 * time.Second },
		"group.name":        func(w *wire.WindowSummary) { w.Group.Name = "eu" },
		"definition.signal": func(w *wire.WindowSummary) { w.Rule.Signals = nil },
	} {
		t.Run(want, func(t *testing.T) {
			w := windowSummary(t)
			change(w)
			ld := plog.NewLogs()
			_, err := wire.AppendWindowSummary(ld, w)
			require.ErrorContains(t, err, "window summary: "+want)
			assert.Zero(t, ld.LogRecordCount())
		})
	}
}

func snapshot(t testing.TB) *wire.Snapshot {
	s := state(t)
	definition := *s.Rule
	definition.Shape.Seed = 0
	other := definition
	other.Weight = "bytes"
	asOf := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	return &wire.Snapshot{
		Rule:           &definition,
		Window:         5 * time.Minute,
		WindowStart:    time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC),
		AsOf:           asOf,
		Approximate:    true,
		PartialReasons: []string{"silent_shards"},
		Total:          s.Summary.Total(),
		TotalUpper:     s.Summary.TotalUpper(),
		Records:        s.Summary.Records(),
		Distinct:       20,
		List:           s.Summary.Top(definition.K),
		Coverage: wire.Coverage{
			Reporting:        2,
			Silent:           1,
			Gone:             3,
			SilentShards:     []wire.SilentShard{{Shard: "shard-2", Since: asOf.Add(-time.Minute)}},
			Late:             4,
			Future:           5,
			Dropped:          6,
			OverflowedShards: 1,
		},
		Conflicts: []wire.Conflict{{Fingerprint: other.Fingerprint(), LiveShards: 1, Rule: &other}},
	}
}

func windowSummary(t testing.TB) *wire.WindowSummary {
	s := state(t)
	return &wire.WindowSummary{
		Rule:    s.Rule,
		Window:  time.Hour,
		AsOf:    time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
		Summary: s.Summary,
	}
}
