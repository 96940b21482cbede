package wire_test

import (
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/wire"
)

func FuzzMessages(f *testing.F) {
	seed(f, malformedMessages)
	f.Fuzz(func(t *testing.T, request []byte) {
		if ld, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(request); err == nil {
			survive(t, ld, wire.Messages, writeMessage)
		}
	})
}

func writeMessage(t *testing.T, ld plog.Logs, m any) {
	switch m := m.(type) {
	case *wire.Report:
		wire.AppendReport(ld, m)
	case *wire.State:
		_, err := wire.AppendState(ld, m)
		require.NoError(t, err)
	}
}

func FuzzPublications(f *testing.F) {
	seed(f, slices.Concat(malformedPublications, malformedRollups))
	f.Fuzz(func(t *testing.T, request []byte) {
		if ld, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(request); err == nil {
			survive(t, ld, wire.Publications, writePublication)
		}
	})
}

func writePublication(t *testing.T, ld plog.Logs, p any) {
	switch p := p.(type) {
	case *wire.Snapshot:
		wire.AppendSnapshot(ld, p)
	case *wire.WindowSummary:
		_, err := wire.AppendWindowSummary(ld, p)
		require.NoError(t, err)
	case *wire.Rollup:
		_, err := wire.AppendRollup(ld, p)
		require.NoError(t, err)
	}
}

// FuzzBodies reads any bytes as each kind of body: as it was sent, and as it was stored.
func FuzzBodies(f *testing.F) {
	for _, ld := range goldens(f) {
		for _, sl := range ld.ResourceLogs().At(0).ScopeLogs().All() {
			for _, lr := range sl.LogRecords().All() {
				if lr.Body().Type() == pcommon.ValueTypeBytes {
					f.Add(lr.Body().Bytes().AsRaw())
				}
			}
		}
	}
	definition, err := wire.EncodeDefinition(state(f).Rule)
	require.NoError(f, err)
	f.Add(definition)
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, scope := range []string{wire.ScopeReport, wire.ScopeState} {
			survive(t, bytesOf(scope, body)(t), wire.Messages, writeMessage)
		}
		for _, scope := range []string{wire.ScopeSummary, wire.ScopeRollup} {
			survive(t, bytesOf(scope, body)(t), wire.Publications, writePublication)
		}
		var bodies wire.Bodies
		readsTheSame(t, body, bodies.State, wire.EncodeState)
		readsTheSame(t, body, bodies.Rollup, wire.EncodeRollup)
		readsTheSame(t, body, bodies.Definition, wire.EncodeDefinition)
	})
}

// readsTheSame checks that what is taken of body can be written again and then reads the same, and what is not is a refusal.
func readsTheSame[M any](t *testing.T, body []byte, read func([]byte) (*M, error), write func(*M) ([]byte, error)) {
	m, err := read(body)
	if err != nil {
		var refusal *wire.Refusal
		require.ErrorAs(t, err, &refusal)
		require.Nil(t, m)
		return
	}
	again, err := write(m)
	require.NoError(t, err)
	n, err := read(again)
	require.NoError(t, err)
	require.Equal(t, m, n)
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
func survive(t *testing.T, ld plog.Logs, read func(plog.Logs) iter.Seq2[any, error], write func(*testing.T, plog.Logs, any)) {
	for v, err := range read(ld) {
		if err != nil {
			var refusal *wire.Refusal
			require.ErrorAs(t, err, &refusal)
			require.NotEmpty(t, refusal.Reason)
			continue
		}
		again := plog.NewLogs()
		write(t, again, v)
		n := 0
		for w, err := range read(again) {
			require.NoError(t, err)
			require.Equal(t, v, w)
			n++
		}
		require.Equal(t, 1, n)
	}
}
