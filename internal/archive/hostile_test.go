package archive

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otel-topk/collector/internal/rule"
)

// TestHostileRecords are read as they were written, with as many attributes and as deep as OTLP lets them be; what is deeper is its text.
func TestHostileRecords(t *testing.T) {
	ld := plog.NewLogs()
	records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()

	var list []byte
	for i := range 50_000 {
		v := pcommon.NewValueInt(int64(i))
		entry := protowire.AppendString(protowire.AppendTag(nil, pairKey, protowire.BytesType), fmt.Sprintf("name-%d", i))
		list = appendMessage(list, listValues, appendMessage(entry, pairValue, appendValue(nil, v)))
	}
	many := pcommon.NewValueEmpty()
	require.NoError(t, readValue(many, appendMessage(nil, anyMap, list)))
	many.Map().CopyTo(records.AppendEmpty().Attributes())

	deep := records.AppendEmpty().Body()
	for range 40 {
		deep = deep.SetEmptySlice().AppendEmpty()
	}
	deep.SetStr("bottom")

	deeper := records.AppendEmpty().Body()
	for range 2000 {
		deeper = deeper.SetEmptySlice().AppendEmpty()
	}
	text := string(rule.AppendText(nil, records.At(2).Body()))

	data := file(t, Meta{Signal: rule.SignalLogs}, []request{{logs: ld, now: 7}})
	found, err := readAll(t, data, everything)
	require.NoError(t, err)
	records.At(2).Body().SetStr(text) // more than OTLP can carry
	want := logLines(ld, 7)
	require.Len(t, found, len(want))
	for i := range want {
		require.True(t, want[i].record == found[i].record, "record %d", i)
	}
}
