package wire_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"google.golang.org/protobuf/proto"

	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/internal/wire/wirepb"
)

// malformedRollups are no rollup.
var malformedRollups = []malformed{
	{"an empty rollup", bytesOf(wire.ScopeRollup, nil), wire.ReasonInvalid, "definition: missing"},
	{"a rollup of a later version", bytesAt(wire.ScopeRollup, "2", nil), wire.ReasonVersion, "version"},
	{"a rollup of noise", bytesOf(wire.ScopeRollup, []byte("private")), wire.ReasonMalformed, "Rollup"},
	{"a rollup too large", bytesOf(wire.ScopeRollup, make([]byte, wire.MaxBodyBytes+1)), wire.ReasonTooLarge, "body"},
	{"an hour before 1970", badRollup(func(m *wirepb.Rollup) { m.Hour = -1 }), wire.ReasonInvalid, "hour: -1"},
	{"an hour that ends past 2262", badRollup(func(m *wirepb.Rollup) { m.Hour = wire.MaxHour + 1 }), wire.ReasonInvalid, "hour: 2562047"},
	{"an hour at the end of all", badRollup(func(m *wirepb.Rollup) { m.Hour = math.MaxInt64 }), wire.ReasonInvalid, "hour"},
	{"a rollup of no rule", badRollup(func(m *wirepb.Rollup) { m.Definition = nil }), wire.ReasonInvalid, "definition: missing"},
	{"a rollup of no group", badRollup(func(m *wirepb.Rollup) { m.Group = nil }), wire.ReasonInvalid, "group.scope"},
	{"a name for overflow", badRollup(func(m *wirepb.Rollup) { m.Group.Scope = wirepb.Scope_SCOPE_OVERFLOW }), wire.ReasonInvalid, "group.name"},
	{"too many reasons", badRollup(func(m *wirepb.Rollup) { m.PartialReasons = make([]string, 17) }), wire.ReasonInvalid, "partial_reasons: 17"},
	{"reasons without end", bytesOf(wire.ScopeRollup, repeated(5, 1<<20)), wire.ReasonInvalid, "partial_reasons: 1048576"},
	{"a long reason", badRollup(func(m *wirepb.Rollup) { m.PartialReasons = []string{long(65)} }), wire.ReasonTooLarge, "partial_reasons[0]"},
	{"an empty reason", badRollup(func(m *wirepb.Rollup) { m.PartialReasons = []string{"late", ""} }), wire.ReasonInvalid, "partial_reasons[1]"},
	{"a reason that is not UTF-8", bytesOf(wire.ScopeRollup, []byte("\x2a\x01\xff")), wire.ReasonMalformed, "Rollup"},
	{"a rollup of nothing", badRollup(func(m *wirepb.Rollup) { m.Summary = nil }), wire.ReasonMalformed, "summary"},
	{"a rollup cut short", badRollup(func(m *wirepb.Rollup) { m.Summary = m.Summary[:len(m.Summary)/2] }), wire.ReasonMalformed, "summary"},
}

func badRollup(change func(*wirepb.Rollup)) func(testing.TB) plog.Logs {
	return func(t testing.TB) plog.Logs {
		body, err := wire.EncodeRollup(rollup(t))
		require.NoError(t, err)
		var m wirepb.Rollup
		require.NoError(t, proto.Unmarshal(body, &m))
		change(&m)
		changed, err := proto.Marshal(&m)
		require.NoError(t, err)
		return bytesOf(wire.ScopeRollup, changed)(t)
	}
}
