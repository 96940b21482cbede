package wire_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"google.golang.org/protobuf/proto"

	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/internal/wire/wirepb"
	"github.com/otel-topk/collector/topk"
)

// malformed is one row of the table of what is refused. It feeds the tests and the fuzzers.
type malformed struct {
	name   string
	record func(testing.TB) plog.Logs
	reason wire.Reason
	want   string // in the error
}

// malformedMessages are no report and no state.
var malformedMessages = []malformed{
	{"a log of an application", scoped("my.app", "1", func(v pcommon.Value) { v.SetStr("private") }), wire.ReasonForeign, "scope: neither"},
	{"a snapshot", badSnapshot(nil), wire.ReasonForeign, "scope: neither"},
	{"a later version", scoped(wire.ScopeState, "2", func(v pcommon.Value) { v.SetEmptyBytes() }), wire.ReasonVersion, "version"},
	{"a body of text", scoped(wire.ScopeState, "1", func(v pcommon.Value) { v.SetStr("private") }), wire.ReasonInvalid, "body: a Str"},
	{"no body", scoped(wire.ScopeReport, "1", func(pcommon.Value) {}), wire.ReasonInvalid, "body: a Empty"},
	{"an empty state", bytesOf(wire.ScopeState, nil), wire.ReasonInvalid, "epoch: 0 bytes"},
	{"an empty report", bytesOf(wire.ScopeReport, nil), wire.ReasonInvalid, "epoch: 0 bytes"},
	{"a state cut short", bytesOf(wire.ScopeState, []byte{10, 16, 1}), wire.ReasonMalformed, "State"},
	{"a length past the end", bytesOf(wire.ScopeState, []byte{82, 0xff, 0xff, 0xff, 0xff, 0x7f}), wire.ReasonMalformed, "State"},
	{"a report of noise", bytesOf(wire.ScopeReport, []byte("private")), wire.ReasonMalformed, "Report"},
	{"a state too large", bytesOf(wire.ScopeState, make([]byte, wire.MaxBodyBytes+1)), wire.ReasonTooLarge, "body"},
	{"a report too large", bytesOf(wire.ScopeReport, make([]byte, wire.MaxReportBytes+1)), wire.ReasonTooLarge, "body"},

	{"a report of no epoch", badReport(func(m *wirepb.Report) { m.Epoch = make([]byte, 16) }), wire.ReasonInvalid, "epoch: all zero"},
	{"a report of a long epoch", badReport(func(m *wirepb.Report) { m.Epoch = make([]byte, 17) }), wire.ReasonInvalid, "epoch: 17 bytes"},
	{"a report of a long shard", badReport(func(m *wirepb.Report) { m.Shard = long(257) }), wire.ReasonTooLarge, "shard"},
	{"a report of too many rules", badReport(func(m *wirepb.Report) { m.Rules = make([]*wirepb.RuleReport, 1001) }), wire.ReasonInvalid, "rules: 1001"},
	{"a report of rules without end", bytesOf(wire.ScopeReport, repeated(4, wire.MaxReportBytes/2)), wire.ReasonInvalid, "rules: 262144"},
	{"a report of a long rule", badReport(func(m *wirepb.Report) { m.Rules = []*wirepb.RuleReport{{Rule: long(129)}} }), wire.ReasonTooLarge, "rules.rule"},
	{"a report through noise", badReport(func(m *wirepb.Report) { m.Through = [][]byte{[]byte("private")} }), wire.ReasonInvalid, "epoch: 7 bytes"},
	{"a report through too many gateways", bytesOf(wire.ScopeReport, repeated(5, wire.MaxReportBytes/2)), wire.ReasonInvalid, "through: 262144"},
	{"a report of silent shards without end", bytesOf(wire.ScopeReport, repeated(6, wire.MaxReportBytes/2)), wire.ReasonInvalid, "silent_shards: 262144"},
	{"a report of a long silent shard", badReport(func(m *wirepb.Report) { m.SilentShards = []*wirepb.SilentShard{{Shard: long(257)}} }), wire.ReasonTooLarge, "silent_shards.shard"},
	{"a report that names no silent shard", badBelow(&wirepb.Below{SilentShards: []uint32{0}}), wire.ReasonInvalid, "rules.below.silent_shards: 0"},
	{"a report of a rule's silent shards without end", badBelow(&wirepb.Below{SilentShards: make([]uint32, 21)}), wire.ReasonInvalid, "rules.below.silent_shards: 21"},
	{"a report of more shards than there are", badBelow(&wirepb.Below{Gone: math.MaxUint32}), wire.ReasonInvalid, "rules.below"},

	{"no epoch", badState(func(m *wirepb.State, _ *wirepb.Definition) { m.Epoch = nil }), wire.ReasonInvalid, "epoch"},
	{"a sender of noise", badState(func(m *wirepb.State, _ *wirepb.Definition) { m.Sender = []byte("private") }), wire.ReasonInvalid, "epoch: 7 bytes"},
	{"a long replica set", badState(func(m *wirepb.State, _ *wirepb.Definition) { m.ReplicaSet = long(129) }), wire.ReasonTooLarge, "replica_set"},
	{"a long shard", badState(func(m *wirepb.State, _ *wirepb.Definition) { m.Shard = long(257) }), wire.ReasonTooLarge, "shard"},
	{"no group", badState(func(m *wirepb.State, _ *wirepb.Definition) { m.Group = nil }), wire.ReasonInvalid, "group.scope: 0"},
	{"an unknown scope", badState(func(m *wirepb.State, _ *wirepb.Definition) { m.Group.Scope = 99 }), wire.ReasonInvalid, "group.scope: 99"},
	{"a global state of groups", badState(func(m *wirepb.State, _ *wirepb.Definition) { m.Group = global() }), wire.ReasonInvalid, "group.scope"},
	{"a group without group_by", badState(func(_ *wirepb.State, d *wirepb.Definition) { d.GroupBy = "" }), wire.ReasonInvalid, "group.scope"},
	{"a name for missing groups", badState(func(m *wirepb.State, _ *wirepb.Definition) { m.Group.Scope = wirepb.Scope_SCOPE_MISSING }), wire.ReasonInvalid, "group.name"},
	{"a long group", badState(func(m *wirepb.State, _ *wirepb.Definition) { m.Group.Name = long(257) }), wire.ReasonTooLarge, "group.name"},
	{"no groups", badState(func(m *wirepb.State, _ *wirepb.Definition) { m.Groups = 0 }), wire.ReasonInvalid, "groups: 0"},
	{"too many groups", badState(func(m *wirepb.State, _ *wirepb.Definition) { m.Groups = math.MaxUint32 }), wire.ReasonInvalid, "groups"},
	{"groups without group_by", badState(func(m *wirepb.State, d *wirepb.Definition) { d.GroupBy, m.Group = "", global() }), wire.ReasonInvalid, "groups: 3"},
	{"a minute before 1970", badState(func(m *wirepb.State, _ *wirepb.Definition) { m.Minute = -1 }), wire.ReasonInvalid, "minute: -1"},
	{"a minute past 2262", badState(func(m *wirepb.State, _ *wirepb.Definition) { m.Minute = math.MaxInt64 }), wire.ReasonInvalid, "minute"},
	{"newest before its minute", badState(func(m *wirepb.State, _ *wirepb.Definition) { m.Newest = 1 }), wire.ReasonInvalid, "newest"},
	{"newest after its minute", badState(func(m *wirepb.State, _ *wirepb.Definition) { m.Newest = math.MaxInt64 }), wire.ReasonInvalid, "newest"},

	{"no definition", badState(func(m *wirepb.State, _ *wirepb.Definition) { m.Definition = []byte{} }), wire.ReasonInvalid, "definition: missing"},
	{"a definition of noise", badState(func(m *wirepb.State, _ *wirepb.Definition) { m.Definition = []byte("private") }), wire.ReasonMalformed, "Definition"},
	{"a definition too large", badState(func(_ *wirepb.State, d *wirepb.Definition) { d.Conditions = []string{long(65_536)} }), wire.ReasonTooLarge, "definition"},
	{"no name", badState(func(_ *wirepb.State, d *wirepb.Definition) { d.Name = "" }), wire.ReasonInvalid, "definition.name"},
	{"a name of two lines", badState(func(_ *wirepb.State, d *wirepb.Definition) { d.Name = "a\nb" }), wire.ReasonInvalid, "definition.name"},
	{"a long name", badState(func(_ *wirepb.State, d *wirepb.Definition) { d.Name = long(129) }), wire.ReasonTooLarge, "definition.name"},
	{"no signal", badState(func(_ *wirepb.State, d *wirepb.Definition) { d.Signals = nil }), wire.ReasonInvalid, "definition.signals"},
	{"an unknown signal", badState(func(_ *wirepb.State, d *wirepb.Definition) { d.Signals = []string{"private"} }), wire.ReasonInvalid, "definition.signals[0]"},
	{"no key", badState(func(_ *wirepb.State, d *wirepb.Definition) { d.Key = nil }), wire.ReasonInvalid, "definition.key"},
	{"a weight scale of 0", badState(func(_ *wirepb.State, d *wirepb.Definition) { d.WeightScale = 0 }), wire.ReasonInvalid, "definition.weight_scale"},
	{"a weight scale of NaN", badState(func(_ *wirepb.State, d *wirepb.Definition) { d.WeightScale = math.NaN() }), wire.ReasonInvalid, "definition.weight_scale"},
	{"an endless weight scale", badState(func(_ *wirepb.State, d *wirepb.Definition) { d.WeightScale = math.Inf(1) }), wire.ReasonInvalid, "definition.weight_scale"},
	{"a long default", badState(func(_ *wirepb.State, d *wirepb.Definition) { d.Default = proto.String(long(257)) }), wire.ReasonTooLarge, "definition.default"},
	{"an unknown time", badState(func(_ *wirepb.State, d *wirepb.Definition) { d.Time = "private" }), wire.ReasonInvalid, "definition.time"},
	{"k of 0", badState(func(_ *wirepb.State, d *wirepb.Definition) { d.K = 0 }), wire.ReasonInvalid, "definition.k: 0"},
	{"k of 501", badState(func(_ *wirepb.State, d *wirepb.Definition) { d.K = 501 }), wire.ReasonInvalid, "definition.k: 501"},
	{"keys of no length", badState(func(_ *wirepb.State, d *wirepb.Definition) { d.MaxKeyBytes = 0 }), wire.ReasonInvalid, "definition.max_key_bytes"},
	{"keys of any length", badState(func(_ *wirepb.State, d *wirepb.Definition) { d.MaxKeyBytes = math.MaxUint32 }), wire.ReasonInvalid, "definition.max_key_bytes"},
	{"fewer residents than k", badState(func(_ *wirepb.State, d *wirepb.Definition) { d.Residents = 9 }), wire.ReasonInvalid, "definition.residents"},
	{"residents without end", badState(func(_ *wirepb.State, d *wirepb.Definition) { d.Residents = math.MaxUint32 }), wire.ReasonInvalid, "definition.residents"},
	{"no width", badState(func(_ *wirepb.State, d *wirepb.Definition) { d.Width = 0 }), wire.ReasonInvalid, "definition.width"},
	{"a depth without end", badState(func(_ *wirepb.State, d *wirepb.Definition) { d.Depth = math.MaxUint32 }), wire.ReasonInvalid, "definition.depth"},

	{"no summary", badState(func(m *wirepb.State, _ *wirepb.Definition) { m.Summary = nil }), wire.ReasonMalformed, "summary"},
	{"a summary cut short", badState(func(m *wirepb.State, _ *wirepb.Definition) { m.Summary = m.Summary[:len(m.Summary)-1] }), wire.ReasonMalformed, "summary"},
	{"a summary of another width", badState(func(_ *wirepb.State, d *wirepb.Definition) { d.Width = 65 }), wire.ReasonInvalid, "summary: shape"},
	{"a summary of another seed", badState(func(_ *wirepb.State, d *wirepb.Definition) { d.Seed = 8 }), wire.ReasonInvalid, "summary: shape"},
	{"a long key", summaryOf(long(257)), wire.ReasonTooLarge, "summary: a key"},
	{"a key that is not UTF-8", summaryOf("private\xff"), wire.ReasonInvalid, "summary: a key"},
}

func global() *wirepb.Group { return &wirepb.Group{Scope: wirepb.Scope_SCOPE_GLOBAL} }

// long is private text of n bytes.
func long(n int) string { return strings.Repeat("private", n/7+1)[:n] }

func scoped(name, version string, body func(pcommon.Value)) func(testing.TB) plog.Logs {
	return func(testing.TB) plog.Logs {
		ld := plog.NewLogs()
		sl := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty()
		sl.Scope().SetName(name)
		sl.Scope().SetVersion(version)
		body(sl.LogRecords().AppendEmpty().Body())
		return ld
	}
}

func bytesOf(name string, body []byte) func(testing.TB) plog.Logs {
	return bytesAt(name, wire.Version, body)
}

func bytesAt(name, version string, body []byte) func(testing.TB) plog.Logs {
	return scoped(name, version, func(v pcommon.Value) { v.SetEmptyBytes().FromRaw(body) })
}

// repeated is a body of n empty texts or messages in field, two bytes each.
func repeated(field byte, n int) []byte {
	return bytes.Repeat([]byte{field<<3 | 2, 0}, n)
}

func badBelow(below *wirepb.Below) func(testing.TB) plog.Logs {
	return badReport(func(m *wirepb.Report) { m.Rules = []*wirepb.RuleReport{{Rule: "tenants", Below: below}} })
}

func badReport(change func(*wirepb.Report)) func(testing.TB) plog.Logs {
	return func(t testing.TB) plog.Logs {
		m := &wirepb.Report{Epoch: []byte("0123456789abcdef"), Shard: "shard-1"}
		change(m)
		body, err := proto.Marshal(m)
		require.NoError(t, err)
		return bytesOf(wire.ScopeReport, body)(t)
	}
}

// badState changes a good state, or the definition in it.
func badState(change func(*wirepb.State, *wirepb.Definition)) func(testing.TB) plog.Logs {
	return func(t testing.TB) plog.Logs {
		ld := plog.NewLogs()
		_, err := wire.AppendState(ld, state(t))
		require.NoError(t, err)
		var m wirepb.State
		var d wirepb.Definition
		body := ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Body().Bytes()
		require.NoError(t, proto.Unmarshal(body.AsRaw(), &m))
		require.NoError(t, proto.Unmarshal(m.Definition, &d))
		m.Definition = nil
		change(&m, &d)
		if m.Definition == nil {
			m.Definition, err = proto.Marshal(&d)
			require.NoError(t, err)
		}
		changed, err := proto.Marshal(&m)
		require.NoError(t, err)
		body.FromRaw(changed)
		return ld
	}
}

func summaryOf(key string) func(testing.TB) plog.Logs {
	return func(t testing.TB) plog.Logs {
		s, err := topk.New(32, state(t).Rule.Shape)
		require.NoError(t, err)
		require.NoError(t, s.Add(key, 1))
		encoded, err := s.AppendBinary(nil)
		require.NoError(t, err)
		return badState(func(m *wirepb.State, _ *wirepb.Definition) { m.Summary = encoded })(t)
	}
}
