package faults

import (
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/testbed/archived"
	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/oracle"
)

// hoard is an archive whose keys do not fit into the memory of a count.
type hoard struct {
	from, to time.Time
	exact    *oracle.Counts
}

// newHoard writes it to url.
func newHoard(t *testing.T, url string, seed uint64) *hoard {
	t.Helper()
	const files, rows, keys = 4, 60_000, 1_000_000
	store := archived.Open(t, url)
	rng := rand.New(rand.NewPCG(seed, 9))
	h := &hoard{from: time.Now().Add(-72 * time.Hour).Truncate(time.Hour).UTC(), exact: oracle.NewCounts()}
	h.to = h.from.Add(files * time.Hour)
	ld := plog.NewLogs()
	rl := ld.ResourceLogs().AppendEmpty()
	sl := rl.ScopeLogs().AppendEmpty()
	record := sl.LogRecords().AppendEmpty()
	for i := range files {
		columns, err := archive.ParseColumns([]string{`log.attributes["key"]`})
		require.NoError(t, err)
		meta := archive.Meta{
			Signal: rule.SignalLogs, Hour: archive.HourOf(h.from.UnixNano()) + archive.Hour(i), Shard: "hoard",
			Segment: fmt.Sprintf("%032x", i+1), Columns: columns,
		}
		file := archive.File{Signal: meta.Signal, Hour: meta.Hour, Name: archive.FileName(meta.Shard, meta.Segment)}
		_, err = store.Put(t.Context(), file.Path(), func(to io.Writer) error {
			w, err := archive.NewWriter(to, meta)
			if err != nil {
				return err
			}
			for range rows {
				// A quarter of the records is of few keys.
				key := fmt.Sprintf("%0100d", rng.IntN(keys)>>(rng.IntN(4)/3*10))
				h.exact.Add(key, 1)
				record.Attributes().PutStr("key", key)
				record.SetTimestamp(pcommon.NewTimestampFromTime(meta.Hour.Start().Add(time.Duration(rng.Int64N(int64(time.Hour))))))
				if err := w.Log(rl, sl, record, 0); err != nil {
					return err
				}
			}
			return w.Close()
		})
		require.NoError(t, err)
	}
	return h
}

func (h *hoard) asked() collector.Asked {
	return collector.Asked{Rule: "keys", From: collector.Moment(h.from), To: collector.Moment(h.to), K: 50, Reason: "a test"}
}

// A job outlives the process that ran it: it is done after all, and exact; or it fails and says so. It leaves nothing on the disk.
func TestKilledRecountsAreResumedAndLeaveNothing(t *testing.T) {
	t.Parallel()
	first := chosenSeed()
	f := newFolders(t, folders{})
	h := newHoard(t, f.url(), first)
	m := startArchiver(t, f, f.url())
	done := tally{kind: "recount", first: first}
	jobs := 0
	defer func() {
		done.kills, done.batches = m.kills, jobs
		done.report(t, jobs)
	}()
	for i := range *rounds {
		seed := first + uint64(i)
		what := fmt.Sprintf("kind recount, seed %d", seed)
		t.Log(what)
		rng := rand.New(rand.NewPCG(seed, 10))
		ids := []string{m.Begin(t, h.asked()), m.Begin(t, h.asked())}
		for range 1 + rng.IntN(2) {
			pause(rng, 20*time.Millisecond, 800*time.Millisecond)
			m.kill()
			m.restart(t, rng)
		}
		for _, id := range ids {
			job := m.AwaitJob(t, id)
			require.Equal(t, "a test", job.Reason, what)
			done.halves += job.Attempts - 1
			if job.Status == "failed" { // it was cut off too often
				require.NotEmpty(t, job.Error, what)
				continue
			}
			require.NoError(t, job.Exactly(h.exact, 50), what)
			jobs++
		}
		require.Empty(t, filesBelow(t, f.spills), what)
		done.rounds++
	}
	require.Positive(t, jobs)
	require.Positive(t, done.halves, "jobs that were cut off")
}
