package wire_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
)

var rollups = map[string]func(*testing.T, *wire.Rollup){
	"as it is":          func(*testing.T, *wire.Rollup) {},
	"of all groups":     func(_ *testing.T, r *wire.Rollup) { r.Group = rule.Group{} },
	"of missing groups": func(_ *testing.T, r *wire.Rollup) { r.Group = rule.Group{Scope: rule.ScopeMissing} },
	"of overflow":       func(_ *testing.T, r *wire.Rollup) { r.Group = rule.Group{Scope: rule.ScopeOverflow} },
	"of the first hour": func(_ *testing.T, r *wire.Rollup) { r.Hour = 0 },
	"of the last hour":  func(_ *testing.T, r *wire.Rollup) { r.Hour = window.Minute(wire.MaxHour * 60) },
	"complete":          func(_ *testing.T, r *wire.Rollup) { r.PartialReasons = nil },
	"with all reasons": func(_ *testing.T, r *wire.Rollup) {
		r.PartialReasons = strings.Split(strings.Repeat(long(wire.MaxReasonBytes)+" ", wire.MaxReasons), " ")[:wire.MaxReasons]
	},
	"flat": func(t *testing.T, r *wire.Rollup) {
		r.Summary = summary(t, r.Rule.Shape, 1000)
		r.Summary.Flatten()
	},
}

func TestARollupReadsBackAsItWasWritten(t *testing.T) {
	for name, change := range rollups {
		t.Run(name, func(t *testing.T) {
			want := rollup(t)
			change(t, want)
			ld := plog.NewLogs()
			size, err := wire.AppendRollup(ld, want)
			require.NoError(t, err)
			assert.InDelta(t, requestSize(ld)-requestSize(emptyLike(ld)), size, 8)
			sameRollup(t, want, only[*wire.Rollup](t, ld))

			body, err := wire.EncodeRollup(want)
			require.NoError(t, err)
			lr := ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0)
			assert.Equal(t, lr.Body().Bytes().AsRaw(), body, "what is stored is what travels")
			var bodies wire.Bodies
			got, err := bodies.Rollup(body)
			require.NoError(t, err)
			sameRollup(t, want, got)
		})
	}
}

func sameRollup(t *testing.T, want, got *wire.Rollup) {
	encoded, err := want.Summary.AppendBinary(nil)
	require.NoError(t, err)
	again, err := got.Summary.AppendBinary(nil)
	require.NoError(t, err)
	assert.Equal(t, encoded, again)
	w, g := *want, *got
	w.Encoded, w.Summary, g.Summary = encoded, nil, nil
	assert.Equal(t, w, g)
}

func TestARollupSaysWhichListOfThePastItIs(t *testing.T) {
	r := rollup(t)
	ld := plog.NewLogs()
	_, err := wire.AppendRollup(ld, r)
	require.NoError(t, err)
	lr := ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0)
	assert.Equal(t, map[string]any{"rule": "tenants", "window": "1h", "scope": "group", "group": "eu"}, lr.Attributes().AsRaw())
	assert.Equal(t, pcommon.Timestamp(r.Hour.Start()), lr.Timestamp())
	assert.Equal(t, r.AsOf, lr.ObservedTimestamp().AsTime())
}

func TestARollupThatNoReaderTakesIsNotWritten(t *testing.T) {
	for want, change := range map[string]func(*wire.Rollup){
		"group.name":                func(r *wire.Rollup) { r.Group.Scope = rule.ScopeMissing },
		"definition.signal":         func(r *wire.Rollup) { r.Rule.Signals = nil },
		"hour: minute 61":           func(r *wire.Rollup) { r.Hour = 61 },
		"hour: minute -60":          func(r *wire.Rollup) { r.Hour = -60 },
		"hour: minute 1537228":      func(r *wire.Rollup) { r.Hour = window.Minute(wire.MaxHour*60 + 60) },
		"partial_reasons: 17":       func(r *wire.Rollup) { r.PartialReasons = make([]string, 17) },
		"partial_reasons[1]: empty": func(r *wire.Rollup) { r.PartialReasons = []string{"late", ""} },
		"partial_reasons[0]: empty": func(r *wire.Rollup) { r.PartialReasons = []string{"late\xff"} },
		"partial_reasons[0]: 65":    func(r *wire.Rollup) { r.PartialReasons = []string{long(65)} },
		"body":                      func(r *wire.Rollup) { r.Encoded = make([]byte, wire.MaxBodyBytes) },
	} {
		t.Run(want, func(t *testing.T) {
			r := rollup(t)
			change(r)
			ld := plog.NewLogs()
			_, err := wire.AppendRollup(ld, r)
			require.ErrorContains(t, err, "rollup: "+want)
			assert.Zero(t, ld.LogRecordCount())
		})
	}
}

func rollup(t testing.TB) *wire.Rollup {
	s := state(t)
	return &wire.Rollup{
		Rule:           s.Rule,
		Hour:           window.Minute(483_333 * 60),
		Group:          s.Group,
		AsOf:           time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
		PartialReasons: []string{"silent_shards", "late"},
		Summary:        s.Summary,
	}
}
