package wire_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otel-topk/collector/internal/wire"
)

// TestFieldsOfANewerWriterAreSkipped: gateways need not be the first to know of a field that was added within a version.
func TestFieldsOfANewerWriterAreSkipped(t *testing.T) {
	for name, write := range map[string]func(plog.Logs){
		"a state":  func(ld plog.Logs) { _, err := wire.AppendState(ld, state(t)); require.NoError(t, err) },
		"a report": func(ld plog.Logs) { wire.AppendReport(ld, gatewayReport()) },
		"a rollup": func(ld plog.Logs) { _, err := wire.AppendRollup(ld, rollup(t)); require.NoError(t, err) },
	} {
		t.Run(name, func(t *testing.T) {
			known, newer := plog.NewLogs(), plog.NewLogs()
			write(known)
			write(newer)
			body := newer.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Body().Bytes()
			added := protowire.AppendTag(body.AsRaw(), 1000, protowire.BytesType)
			body.FromRaw(protowire.AppendString(added, "what nobody knows yet"))
			assert.Equal(t, only[any](t, known), only[any](t, newer))
		})
	}
}
