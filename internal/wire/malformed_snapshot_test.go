package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"google.golang.org/protobuf/proto"

	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/internal/wire/wirepb"
)

// malformedPublications are no snapshot and no window summary; malformedRollups are the others.
var malformedPublications = []malformed{
	{"a log of an application", scoped("my.app", "1", func(v pcommon.Value) { v.SetStr("private") }), wire.ReasonForeign, "scope: none of"},
	{"a state", badState(func(*wirepb.State, *wirepb.Definition) {}), wire.ReasonForeign, "scope: none of"},
	{"a later version", scoped(wire.ScopeSnapshot, "2", func(v pcommon.Value) { v.SetEmptyMap() }), wire.ReasonVersion, "version"},
	{"a snapshot of bytes", bytesOf(wire.ScopeSnapshot, []byte("private")), wire.ReasonInvalid, "body: a Bytes"},
	{"an empty snapshot", scoped(wire.ScopeSnapshot, "1", func(v pcommon.Value) { v.SetEmptyMap() }), wire.ReasonInvalid, "missing"},

	{"no rule", badSnapshot(func(_, b pcommon.Map) { b.Remove("definition") }), wire.ReasonInvalid, "body.definition: missing"},
	{"no k", badSnapshot(func(_, b pcommon.Map) { b.Remove("k") }), wire.ReasonInvalid, "body.k: missing"},
	{"k of 501", badSnapshot(func(_, b pcommon.Map) { b.PutInt("k", 501) }), wire.ReasonInvalid, "body.k: 501"},
	{"no window", badSnapshot(func(a, _ pcommon.Map) { a.Remove("window") }), wire.ReasonInvalid, "attributes.window: missing"},
	{"a window of 90s", badSnapshot(func(a, _ pcommon.Map) { a.PutStr("window", "90s") }), wire.ReasonInvalid, "attributes.window"},
	{"a window of 25h", badSnapshot(func(a, _ pcommon.Map) { a.PutStr("window", "25h") }), wire.ReasonInvalid, "window"},
	{"an unknown scope", badSnapshot(func(a, _ pcommon.Map) { a.PutStr("scope", "private") }), wire.ReasonInvalid, "attributes.scope"},
	{"a group without a name", badSnapshot(func(a, _ pcommon.Map) { a.PutStr("scope", "group") }), wire.ReasonInvalid, "attributes.group: missing"},
	{"a group that is a number", badSnapshot(func(a, _ pcommon.Map) { a.PutInt("group", 1) }), wire.ReasonInvalid, "attributes.group: a Int"},
	{"a time that is none", badSnapshot(func(_, b pcommon.Map) { b.PutStr("as_of", "private") }), wire.ReasonInvalid, "body.as_of"},
	{"a negative count", badSnapshot(func(_, b pcommon.Map) { b.PutInt("total", -1) }), wire.ReasonInvalid, "body.total: negative"},
	{"a count of text", badSnapshot(func(_, b pcommon.Map) { b.PutStr("total", "private") }), wire.ReasonInvalid, "body.total: text"},
	{"a small count as text", badSnapshot(func(_, b pcommon.Map) { b.PutStr("total", "1") }), wire.ReasonInvalid, "body.total: text"},
	{"a count of doubles", badSnapshot(func(_, b pcommon.Map) { b.PutDouble("total", 1) }), wire.ReasonInvalid, "body.total: a Double"},
	{"less than the total", badSnapshot(func(_, b pcommon.Map) { b.PutInt("total_upper", 1) }), wire.ReasonInvalid, "body.total_upper"},
	{"reasons that are numbers", badSnapshot(func(_, b pcommon.Map) { b.PutEmptySlice("partial_reasons").AppendEmpty().SetInt(1) }), wire.ReasonInvalid, "body.partial_reasons[0]"},
	{"a reason of no text", badSnapshot(func(_, b pcommon.Map) { b.PutEmptySlice("partial_reasons").AppendEmpty().SetStr("") }), wire.ReasonInvalid, "body.partial_reasons[0]"},
	{"a long reason", badSnapshot(func(_, b pcommon.Map) { b.PutEmptySlice("partial_reasons").AppendEmpty().SetStr(long(65)) }), wire.ReasonTooLarge, "body.partial_reasons[0]"},
	{"too many reasons", badSnapshot(func(_, b pcommon.Map) { texts(b, "partial_reasons", 17) }), wire.ReasonInvalid, "body.partial_reasons: 17"},
	{"items that are text", badSnapshot(func(_, b pcommon.Map) { b.PutEmptySlice("items").AppendEmpty().SetStr("private") }), wire.ReasonInvalid, "body.items[0]: a Str"},
	{"an item without a key", badItem(0, func(m pcommon.Map) { m.Remove("key") }), wire.ReasonInvalid, "body.items[0].key: missing"},
	{"a key that is not UTF-8", badItem(0, func(m pcommon.Map) { m.PutStr("key", "private\xff") }), wire.ReasonInvalid, "body.items[0].key: not UTF-8"},
	{"a long key", badItem(0, func(m pcommon.Map) { m.PutStr("key", long(257)) }), wire.ReasonTooLarge, "body.items.key"},
	{"a lower bound above the estimate", badItem(1, func(m pcommon.Map) { m.PutInt("lower", 1000) }), wire.ReasonInvalid, "body.items[1].lower"},
	{"lower bounds above the total", badSnapshot(func(_, b pcommon.Map) { b.PutInt("total", 21) }), wire.ReasonInvalid, "body.items[1].lower: with those before it"},
	{"items out of order", badItem(1, func(m pcommon.Map) { m.PutInt("estimate", 1000) }), wire.ReasonInvalid, "body.items[1]: out of order"},
	{"an item twice", badItem(1, func(m pcommon.Map) { m.PutStr("key", "key-19"); m.PutInt("estimate", 20) }), wire.ReasonInvalid, "body.items[1]: out of order"},
	{"more items than k", badSnapshot(func(_, b pcommon.Map) { b.PutInt("k", 9) }), wire.ReasonInvalid, "body.items: 10"},
	{"next above the last item", badSnapshot(func(_, b pcommon.Map) { b.PutInt("next", 1000) }), wire.ReasonInvalid, "body.next"},
	{"next after a short list", badSnapshot(func(_, b pcommon.Map) { b.PutInt("k", 11) }), wire.ReasonInvalid, "body.next"},
	{"no coverage", badSnapshot(func(_, b pcommon.Map) { b.Remove("coverage") }), wire.ReasonInvalid, "body.coverage: missing"},
	{"fewer than no shards", badSnapshot(func(_, b pcommon.Map) { sub(b, "coverage").PutInt("silent", -1) }), wire.ReasonInvalid, "body.coverage.silent: -1"},
	{"a rule without a key", badSnapshot(func(_, b pcommon.Map) { sub(b, "definition").PutEmptySlice("key") }), wire.ReasonInvalid, "definition.key"},
	{"a conflict without a rule", badSnapshot(func(_, b pcommon.Map) { b.PutEmptySlice("conflicts").AppendEmpty().SetEmptyMap() }), wire.ReasonInvalid, "body.conflicts[0]"},

	{"an empty summary", bytesOf(wire.ScopeSummary, nil), wire.ReasonInvalid, "window_minutes: 0"},
	{"a summary of noise", bytesOf(wire.ScopeSummary, []byte("private")), wire.ReasonMalformed, "WindowSummary"},
	{"a summary too large", bytesOf(wire.ScopeSummary, make([]byte, wire.MaxBodyBytes+1)), wire.ReasonTooLarge, "body"},
	{"a summary of 25h", badSummary(func(m *wirepb.WindowSummary) { m.WindowMinutes = 1500 }), wire.ReasonInvalid, "window_minutes: 1500"},
	{"a summary of no group", badSummary(func(m *wirepb.WindowSummary) { m.Group = nil }), wire.ReasonInvalid, "group.scope"},
	{"a summary of no rule", badSummary(func(m *wirepb.WindowSummary) { m.Definition = nil }), wire.ReasonInvalid, "definition: missing"},
	{"a summary of nothing", badSummary(func(m *wirepb.WindowSummary) { m.Summary = nil }), wire.ReasonMalformed, "summary"},
}

// badSnapshot changes the attributes or the body of a good snapshot.
func badSnapshot(change func(attributes, body pcommon.Map)) func(testing.TB) plog.Logs {
	return func(t testing.TB) plog.Logs {
		ld := plog.NewLogs()
		wire.AppendSnapshot(ld, snapshot(t))
		lr := ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0)
		if change != nil {
			change(lr.Attributes(), lr.Body().Map())
		}
		return ld
	}
}

func badItem(i int, change func(pcommon.Map)) func(testing.TB) plog.Logs {
	return badSnapshot(func(_, body pcommon.Map) {
		items, _ := body.Get("items")
		change(items.Slice().At(i).Map())
	})
}

func badSummary(change func(*wirepb.WindowSummary)) func(testing.TB) plog.Logs {
	return func(t testing.TB) plog.Logs {
		ld := plog.NewLogs()
		_, err := wire.AppendWindowSummary(ld, windowSummary(t))
		require.NoError(t, err)
		var m wirepb.WindowSummary
		body := ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Body().Bytes()
		require.NoError(t, proto.Unmarshal(body.AsRaw(), &m))
		change(&m)
		changed, err := proto.Marshal(&m)
		require.NoError(t, err)
		body.FromRaw(changed)
		return ld
	}
}

func sub(m pcommon.Map, name string) pcommon.Map {
	v, _ := m.Get(name)
	return v.Map()
}

func texts(m pcommon.Map, name string, n int) {
	list := m.PutEmptySlice(name)
	for range n {
		list.AppendEmpty().SetStr("late")
	}
}
