package wire_test

import (
	"iter"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/wire"
)

func TestWhatIsNoMessageIsRefusedAndTheNextOneArrives(t *testing.T) {
	good := plog.NewLogs()
	_, err := wire.AppendState(good, state(t))
	require.NoError(t, err)
	for _, m := range malformedMessages {
		t.Run(m.name, func(t *testing.T) { refused(t, m, good, wire.Messages) })
	}
}

func TestWhatIsNoPublicationIsRefusedAndTheNextOneArrives(t *testing.T) {
	good := plog.NewLogs()
	wire.AppendSnapshot(good, snapshot(t))
	for _, m := range slices.Concat(malformedPublications, malformedRollups) {
		t.Run(m.name, func(t *testing.T) { refused(t, m, good, wire.Publications) })
	}
}

// refused checks that m is refused for its reason, by an error without its data, and that what stands behind it is not.
func refused(t *testing.T, m malformed, good plog.Logs, read func(plog.Logs) iter.Seq2[any, error]) {
	ld := m.record(t)
	behind := plog.NewLogs()
	good.CopyTo(behind)
	behind.ResourceLogs().MoveAndAppendTo(ld.ResourceLogs())

	var errs []error
	var got []any
	for v, err := range read(ld) {
		errs = append(errs, err)
		got = append(got, v)
	}
	require.Len(t, errs, 2)
	var refusal *wire.Refusal
	require.ErrorAs(t, errs[0], &refusal)
	assert.Equal(t, m.reason, refusal.Reason)
	assert.ErrorContains(t, refusal, m.want)
	assert.NotContains(t, refusal.Error(), "private")
	assert.Nil(t, got[0])
	assert.NoError(t, errs[1])
	assert.NotNil(t, got[1])
}

// M5
func TestRefusingAllocatesInProportion(t *testing.T) {
	for _, table := range []struct {
		rows []malformed
		read func(plog.Logs) iter.Seq2[any, error]
	}{
		{malformedMessages, wire.Messages},
		{slices.Concat(malformedPublications, malformedRollups), wire.Publications},
	} {
		for _, m := range table.rows {
			ld := m.record(t)
			size := uint64(requestSize(ld))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for _, err := range table.read(ld) {
				require.Error(t, err)
			}
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > 4*size+64<<10 {
				t.Errorf("%s: %d bytes allocated for %d", m.name, took, size)
			}
		}
	}
}

func TestReadingStopsWhenTheReaderDoes(t *testing.T) {
	ld := plog.NewLogs()
	wire.AppendReport(ld, &wire.Report{Epoch: wire.Epoch{1}})
	wire.AppendReport(ld, &wire.Report{Epoch: wire.Epoch{2}})
	n := 0
	for _, err := range wire.Messages(ld) {
		require.NoError(t, err)
		n++
		break
	}
	assert.Equal(t, 1, n)
}
