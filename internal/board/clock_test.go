package board

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/window"
)

// TestAClockThatJumpsAnHourAndBackLosesNothing: a board whose clock is now and then an hour ahead or behind for a while has, each
// time that it is right again, the lists of a board whose clock was right all the time.
func TestAClockThatJumpsAnHourAndBackLosesNothing(t *testing.T) {
	for seed := range worlds() / 20 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := newTwins(t, seed, true)
			w.b.cfg.Event, w.mortal.cfg.Event = false, false
			jump := time.Duration(0)
			for i := range 200 {
				switch {
				case jump != 0 && w.r.IntN(3) == 0:
					jump = 0
				case jump == 0 && w.r.IntN(5) == 0:
					jump = []time.Duration{time.Hour, -time.Hour}[w.r.IntN(2)]
				}
				w.jump(jump)
				if i%20 == 19 {
					w.now += int64(7 * time.Minute)
				} else {
					w.now += w.r.Int64N(int64(time.Minute))
				}
			}
		})
	}
}

// jump has the mortal board live on with its clock off by d, while both get what shards send.
func (w *twins) jump(d time.Duration) {
	s := w.shards[w.r.IntN(len(w.shards))]
	w.count(s)
	for m := range s.minutes {
		final := w.now >= (m + w.lateness + 1).Start()
		for _, st := range s.send(m, final) {
			if err := w.mortal.Accept(st.State, w.now+int64(d)); err != nil {
				// What a clock that is an hour off refuses comes again: a shard keeps what is not answered.
				require.ErrorIs(w, err, ErrTooLate)
				continue
			}
			require.NoError(w, w.b.Accept(st.State, w.now))
			w.oracle.delivered(st)
		}
		if final {
			delete(s.minutes, m)
		}
	}
	require.NoError(w, w.b.Report(&s.report, w.now))
	require.NoError(w, w.mortal.Report(&s.report, w.now+int64(d)))
	off := w.mortal.Publish(w.now + int64(d))
	on := w.b.Publish(w.now)
	for i, p := range []Publication{on, off} {
		w.read(i, p)
	}
	if d == 0 {
		w.compareTotals()
	}
}

// compareTotals of all lists; coverage tells of the clock.
func (w *twins) compareTotals() {
	w.Helper()
	require.Len(w, w.readers[1], len(w.readers[0]))
	for key, a := range w.readers[0] {
		b, ok := w.readers[1][key]
		require.True(w, ok, "%v is missing", key)
		require.Equal(w, a.Snapshot.WindowStart, b.Snapshot.WindowStart, "%v", key)
		require.Equal(w, a.Snapshot.Total, b.Snapshot.Total, "%v", key)
		require.Equal(w, a.Snapshot.Records, b.Snapshot.Records, "%v", key)
		require.Equal(w, a.Snapshot.List.Items, b.Snapshot.List.Items, "%v", key)
	}
}

// TestListsEndWhereTheClockIsAfterItWasSetBack: what was kept merged of windows that ended later is not shown.
func TestListsEndWhereTheClockIsAfterItWasSetBack(t *testing.T) {
	cfg := wallConfig()
	cfg.Shelf = newShelf()
	b := New(cfg)
	s := newShard(t, 1, "s", ungrouped(t, "rule"))
	now := noon
	for range 90 {
		s.add(now, global, "k", 1)
		accept(t, b, now, s.send(window.MinuteOf(now), true)...)
		now += int64(time.Minute)
		b.Publish(now)
	}
	now -= int64(3 * time.Minute)
	other := restored(t, cfg, now)
	got, want := b.Publish(now).Changed, other.Publish(now).Changed
	require.Len(t, got, 3)
	for i := range want {
		require.Equal(t, want[i].Snapshot.Total, got[i].Snapshot.Total, want[i].Snapshot.Window)
	}
	require.EqualValues(t, 5, got[0].Snapshot.Total)
}
