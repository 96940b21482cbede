package collector

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
)

func TestPlaceholdersBecomeFreeAddresses(t *testing.T) {
	ports, others := NewPorts(), NewPorts()
	others.Share(t, "there", ports, "here")
	first, second, ok := strings.Cut(ports.Expand(t, "<here> <elsewhere>"), " ")
	require.True(t, ok)
	assert.NotEqual(t, first, second)
	assert.Equal(t, first+" "+first, others.Expand(t, "<there> "+ports.Expand(t, "<here>")), "a name keeps its address")
	listener, err := net.Listen("tcp", first)
	require.NoError(t, err)
	require.NoError(t, listener.Close())
}

func TestASinkKeepsTheBytesThatWereSent(t *testing.T) {
	address := NewPorts().Address(t, "sink")
	sink := NewSink(t, address)
	sender := NewSender(t, address)
	ld := plog.NewLogs()
	ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Body().SetStr("text")
	want, err := (&plog.ProtoMarshaler{}).MarshalLogs(ld)
	require.NoError(t, err)

	sink.Refuse(1)
	require.ErrorContains(t, sender.Logs(t.Context(), ld), "refused by the test")
	assert.Empty(t, sink.Requests(LogsMethod))
	require.NoError(t, sender.Raw(t.Context(), LogsMethod, want))
	require.NoError(t, sender.Logs(t.Context(), ld))
	assert.Equal(t, [][]byte{want, want}, sink.Requests(LogsMethod))
	assert.Empty(t, sink.Requests(TracesMethod))
}

func TestASenderEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, context.Canceled, ctx.Err())
	require.ErrorContains(t, NewSender(t, "localhost:1").Raw(ctx, LogsMethod, nil), "Canceled")
}

func TestValuesAreReadByTheStartOfTheirLine(t *testing.T) {
	assert.Equal(t, 12.5, Value(t, "# HELP seconds\nseconds{a=\"b c\"} 12.5\nseconds_more 3\n", "seconds"))
}
