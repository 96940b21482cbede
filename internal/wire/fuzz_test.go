package wire_test

import (
	"iter"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/wire"
)

func FuzzMessages(f *testing.F) {
	seed(f, malformedMessages)
	f.Fuzz(func(t *testing.T, request []byte) {
		survive(t, request, wire.Messages, func(ld plog.Logs, m any) {
			switch m := m.(type) {
			case *wire.Report:
				wire.AppendReport(ld, m)
			case *wire.State:
				_, err := wire.AppendState(ld, m)
				require.NoError(t, err)
			}
		})
	})
}

func FuzzPublications(f *testing.F) {
	seed(f, malformedPublications)
	f.Fuzz(func(t *testing.T, request []byte) {
		survive(t, request, wire.Publications, func(ld plog.Logs, p any) {
			switch p := p.(type) {
			case *wire.Snapshot:
				wire.AppendSnapshot(ld, p)
			case *wire.WindowSummary:
				_, err := wire.AppendWindowSummary(ld, p)
				require.NoError(t, err)
			}
		})
	})
}

// seed gives a fuzzer the golden requests and the small ones of the table.
func seed(f *testing.F, rows []malformed) {
	for _, ld := range goldens(f) {
		add(f, ld)
	}
	for _, m := range rows {
		if ld := m.record(f); requestSize(ld) < 1<<16 {
			add(f, ld)
		}
	}
}

func add(f *testing.F, ld plog.Logs) {
	b, err := (&plog.ProtoMarshaler{}).MarshalLogs(ld)
	require.NoError(f, err)
	f.Add(b)
}

// survive reads any request: what is taken can be written again and then reads the same, what is not is a refusal.
func survive(t *testing.T, request []byte, read func(plog.Logs) iter.Seq2[any, error], write func(plog.Logs, any)) {
	ld, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(request)
	if err != nil {
		return
	}
	for v, err := range read(ld) {
		if err != nil {
			var refusal *wire.Refusal
			require.ErrorAs(t, err, &refusal)
			require.NotEmpty(t, refusal.Reason)
			continue
		}
		again := plog.NewLogs()
		write(again, v)
		for w, err := range read(again) {
			require.NoError(t, err)
			require.Equal(t, v, w)
		}
	}
}
