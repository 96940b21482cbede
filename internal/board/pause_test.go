package board

import (
	"fmt"
	"maps"
	"testing"

	"github.com/otel-topk/collector/internal/window"
)

// interrupted is a fleet whose network delivers also while lists are published.
type interrupted struct {
	*fleet
	shelf      *shelf
	publishing bool
	pauses     int
}

func newInterrupted(t testing.TB, seed uint64) *interrupted {
	f := &interrupted{fleet: newFleet(t, seed, seed%2 == 0), shelf: newShelf()}
	cfg, mostSums := f.b.cfg, f.b.mostSums
	cfg.Shelf, cfg.Pause = f.shelf, f.pause
	f.b = New(cfg)
	f.b.mostSums = mostSums
	return f
}

func (f *interrupted) pause() bool {
	if !f.publishing {
		return false
	}
	f.pauses++
	if f.r.IntN(20) == 0 {
		f.checkStored()
	}
	f.count(f.shards[f.r.IntN(len(f.shards))])
	f.emit(f.shards[f.r.IntN(len(f.shards))])
	f.deliver(3)
	return true
}

// checkStored holds what would be restored now against what was delivered.
func (f *interrupted) checkStored() {
	cfg := f.b.cfg
	cfg.Shelf, cfg.Pause = &shelf{values: maps.Clone(f.shelf.values), aside: map[string][]byte{}}, nil
	b := restored(f, cfg, f.now)
	p := b.Publish(f.now)
	if b.Stats().Rules > 0 {
		of := *f.oracle
		of.lists = map[listKey]Published{}
		of.crowd = of.crowd || len(f.b.stats.OverflowedGroups)+len(f.b.stats.CrowdedGroups) > 0
		of.published(p)
		of.check(f, b, f.newest())
	}
}

// TestStatesMayComeWhileListsArePublished: the lists after that are right, and what is stored meanwhile always belongs together.
func TestStatesMayComeWhileListsArePublished(t *testing.T) {
	for seed := range worlds() / 10 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			f := newInterrupted(t, seed)
			for range 25 {
				f.step(f.exact)
				f.now += f.r.Int64N(2) * int64(window.Bucket)
				for _, s := range f.shards { // something to fold
					f.emit(s)
				}
				f.deliver(1)
				f.publishing = true
				p := f.b.Publish(f.now)
				f.publishing = false
				f.oracle.published(p)
				f.history.take(f, p.Rollups)
				f.publish()
			}
		})
	}
}
