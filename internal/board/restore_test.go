package board

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

// shelf is a Shelf that outlasts boards.
type shelf struct {
	values map[string][]byte
	aside  map[string][]byte
	sets   int
}

func newShelf() *shelf { return &shelf{values: map[string][]byte{}, aside: map[string][]byte{}} }

func (s *shelf) Get(key string) ([]byte, error) { return s.values[key], nil }

func (s *shelf) Set(key string, value []byte) {
	s.values[key] = slices.Clone(value)
	s.sets++
}

func (s *shelf) Delete(key string) { delete(s.values, key) }

func (s *shelf) SetAside(key string, value []byte) {
	s.aside[key] = slices.Clone(value)
	delete(s.values, key)
}

// walk in the order of a map, which is none.
func (s *shelf) walk(visit func(key string, size int, open func() ([]byte, bool))) error {
	for key, value := range s.values {
		visit(key, len(value), func() ([]byte, bool) { return value, true })
	}
	return nil
}

// restored is a new board of what the shelf holds.
func restored(t testing.TB, cfg Config, now int64) *Board {
	t.Helper()
	b := New(cfg)
	require.NoError(t, b.Restore(now, cfg.Shelf.(*shelf).walk))
	return b
}

// twins are a board that never dies and one that is killed again and again and restored from its shelf. Readers keep lists
// through it all.
type twins struct {
	*fleet
	mortal  *Board
	readers [2]map[listKey]Published
	history history
}

func newTwins(t testing.TB, seed uint64, exact bool) *twins {
	f := newFleet(t, seed, exact)
	cfg := f.b.cfg
	cfg.Shelf = newShelf()
	f.b.cfg.KeepHours = 24 * time.Hour
	w := &twins{fleet: f, mortal: New(cfg), readers: [2]map[listKey]Published{{}, {}}, history: history{}}
	f.also = w
	return w
}

func (w *twins) accept(s *wire.State) error { return w.mortal.Accept(s, w.now) }

func (w *twins) report(r *wire.Report) error { return w.mortal.Report(r, w.now) }

// hello of a shard of no rule: there always is one, so no board is deaf before it dies.
func (w *twins) hello() {
	r := &wire.Report{Epoch: wire.Epoch{0xff}, Shard: "watch"}
	require.NoError(w, w.b.Report(r, w.now))
	require.NoError(w, w.report(r))
}

func (w *twins) published(p Publication) {
	if w.r.IntN(4) == 0 {
		w.mortal = restored(w, w.mortal.cfg, w.now)
	}
	q := w.mortal.Publish(w.now)
	w.history.take(w, q.Rollups)
	w.read(0, p)
	w.read(1, q)
	w.compare()
}

func (w *twins) read(reader int, p Publication) {
	for _, e := range p.Ended {
		delete(w.readers[reader], listKey{e.Window, e.Group})
	}
	for _, c := range p.Changed {
		w.readers[reader][listKey{c.Snapshot.Window, c.Snapshot.Group}] = c
	}
}

// compare what readers of both have. An unchanged list comes again after a minute, so its age may differ; bounds depend on
// the order in which summaries that are not exact were merged.
func (w *twins) compare() {
	w.Helper()
	immortal, mortal := w.readers[0], w.readers[1]
	for key, a := range immortal {
		if w.oracle.crowd && key.group != global {
			continue // which groups have a place depends on when minutes were folded
		}
		b, ok := mortal[key]
		require.True(w, ok, "%v is missing", key)
		x, y := *a.Snapshot, *b.Snapshot
		require.InDelta(w, 0, x.AsOf.Sub(y.AsOf).Seconds(), 60)
		x.AsOf, y.AsOf = time.Time{}, time.Time{}
		if w.oracle.crowd {
			x.Coverage.OverflowedShards, y.Coverage.OverflowedShards = 0, 0
		}
		if !w.exact {
			x.List, y.List = topk.List{}, topk.List{}
			x.Distinct, y.Distinct = 0, 0
		}
		require.Equal(w, x, y)
	}
	for key := range mortal {
		if w.oracle.crowd && key.group != global {
			continue
		}
		_, ok := immortal[key]
		require.True(w, ok, "%v has not ended", key)
	}
}

// compareHours once the rollups of both are due.
func (w *twins) compareHours() {
	w.Helper()
	for key, r := range w.fleet.history {
		if w.oracle.crowd {
			continue
		}
		require.NotNil(w, w.history[key], "%v", key)
		require.Equal(w, r.PartialReasons, w.history[key].PartialReasons, "%v", key)
	}
}

// TestARestoredBoardGoesOnAsIfItHadNeverDied holds after every step of random fleets.
func TestARestoredBoardGoesOnAsIfItHadNeverDied(t *testing.T) {
	for seed := range worlds() / 4 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := newTwins(t, seed, seed%2 == 0)
			for range 100 {
				w.step(w.exact)
			}
			require.Zero(t, w.mortal.stats.Unfit)
			require.Zero(t, w.mortal.stats.Unreadable)
		})
	}
}
