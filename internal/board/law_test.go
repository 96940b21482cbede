package board

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/topk"
)

// fleet is some shards, a network that loses, repeats and reorders, a gateway, and the oracle.
type fleet struct {
	testing.TB
	r        *rand.Rand
	b        *Board
	def      *rule.Definition
	now      int64
	epochs   byte
	shards   []*shard
	network  []message
	oracle   *oracle
	history  history
	exact    bool // no table overflows
	groups   int
	keys     int
	lateness window.Minute
	also     *twins // does the same; nil: there is none
}

func newFleet(t testing.TB, seed uint64, exact bool) *fleet {
	r := rand.New(rand.NewPCG(seed, 4))
	cfg := wallConfig()
	cfg.Event = r.IntN(3) == 0
	cfg.PointQueries = "all"
	cfg.KeepMinutes = []time.Duration{0, 10 * time.Minute, 2 * time.Hour}[r.IntN(3)]
	cfg.Windows = [][]time.Duration{
		{5 * time.Minute, time.Hour, 24 * time.Hour}, {time.Minute}, {3 * time.Hour, 2 * time.Minute, 35 * time.Minute},
	}[r.IntN(3)]
	f := &fleet{TB: t, r: r, now: noon + r.Int64N(int64(time.Hour)), oracle: newOracle(), history: history{}, exact: exact, groups: 1 + r.IntN(6), keys: 1 + r.IntN(60), lateness: 2}
	f.def = ungrouped(t, "rule")
	if r.IntN(4) > 0 {
		f.def = grouped(t, "rule")
	}
	if !exact {
		f.def.Residents = 16 + r.IntN(10)
		f.def.Shape = topk.Shape{Width: 8 << r.IntN(5), Depth: 1 + r.IntN(5), Seed: seed}
		if r.IntN(3) == 0 {
			cfg.MaxGroups = 1 + r.IntN(4)
		}
	}
	f.b = New(cfg)
	f.b.mostSums = []int64{0, 20_000, cfg.MaxLiveBytes + 1<<30}[r.IntN(3)]
	for range 1 + r.IntN(4) {
		f.join(exact)
	}
	return f
}

func (f *fleet) join(exact bool) {
	f.epochs++
	s := newShard(f, f.epochs, fmt.Sprint("shard-", f.epochs), f.def)
	if !exact && f.r.IntN(2) == 0 {
		s.maxGroups = 1 + f.r.IntN(3)
	}
	f.shards = append(f.shards, s)
}

// count makes some records of open minutes.
func (f *fleet) count(s *shard) {
	for range f.r.IntN(60) {
		at := f.now - f.r.Int64N(int64(f.lateness)*int64(window.Bucket))
		g := global
		if f.def.Grouped() {
			g = rule.Group{Scope: rule.ScopeGroup, Name: fmt.Sprint("g", f.r.IntN(f.groups))}
			if f.r.IntN(8) == 0 {
				g = rule.Group{Scope: rule.ScopeMissing}
			}
		}
		n := int(float64(f.keys) * f.r.Float64() * f.r.Float64())
		s.add(at, g, fmt.Sprint("key-", n), 1+f.r.Uint64N(3))
	}
}

// emit sends what is open, and finals of what has closed. Finals stay with the shard until all were answered.
func (f *fleet) emit(s *shard) {
	for m := range s.minutes {
		f.network = append(f.network, s.send(m, window.MinuteOf(f.now) > m+f.lateness)...)
	}
}

// deliver hands some of the network's messages to the board, in any order.
func (f *fleet) deliver(losses int) {
	f.r.Shuffle(len(f.network), func(i, j int) { f.network[i], f.network[j] = f.network[j], f.network[i] })
	n := f.r.IntN(len(f.network) + 1)
	if losses == 0 {
		n = len(f.network)
	}
	for _, m := range f.network[:n] {
		if losses > 0 && f.r.IntN(10) < losses {
			continue
		}
		f.send(m)
		if f.r.IntN(5) == 0 {
			f.send(m)
		}
	}
	f.network = f.network[n:]
}

func (f *fleet) send(m message) {
	err := f.b.Accept(m.State, f.now)
	if f.also != nil {
		require.Equal(f, err, f.also.accept(m.State))
	}
	switch {
	case err == nil:
		f.oracle.delivered(m)
	case !errors.Is(err, ErrTooLate):
		f.Fatal(err)
	}
}

// publish and check what every reader has then.
func (f *fleet) publish() {
	if f.also != nil {
		f.also.hello()
	}
	due := window.MinuteOf(f.now) != f.b.folded
	p := f.b.Publish(f.now)
	f.oracle.published(p)
	f.history.take(f, p.Rollups)
	if f.also != nil {
		f.also.published(p)
	}
	newest := f.newest()
	if f.b.Stats().Rules == 0 {
		require.Empty(f, f.oracle.lists)
		require.Empty(f, f.oracle.exact(f.b.keep.Start(f.b.windows[len(f.b.windows)-1], newest), newest)[global])
		return
	}
	f.oracle.check(f, f.b, newest)
	if due {
		f.oracle.checkHours(f, f.history, f.b, newest, f.exact)
	}
	if f.also != nil {
		of := *f.oracle
		of.lists = f.also.readers[1]
		of.check(f, f.also.mortal, newest)
		if due {
			of.checkHours(f, f.also.history, f.also.mortal, newest, f.exact)
			f.also.compareHours()
		}
	}
}

// newest minute of windows.
func (f *fleet) newest() window.Minute {
	if !f.b.cfg.Event {
		return window.MinuteOf(f.now)
	}
	var event int64
	for _, m := range f.oracle.states {
		event = max(event, m.Newest, m.Minute.Start())
	}
	return window.MinuteOf(event)
}

// step is one random thing that happens.
func (f *fleet) step(exact bool) {
	s := f.shards[f.r.IntN(len(f.shards))]
	switch f.r.IntN(12) {
	case 0, 1, 2:
		f.count(s)
	case 3, 4:
		f.emit(s)
	case 5, 6:
		f.deliver(3)
	case 7: // killed; what was not delivered may still come
		for i := range f.shards {
			if f.shards[i] == s {
				f.shards = append(f.shards[:i], f.shards[i+1:]...)
				break
			}
		}
		f.join(exact)
	case 8:
		if told := &s.report.Rules[0]; f.r.IntN(3) == 0 {
			told.Late += f.r.Uint64N(3)
			told.Future += f.r.Uint64N(2)
			told.Dropped += f.r.Uint64N(2)
		}
		s.report.Goodbye = f.r.IntN(9) == 0
		require.NoError(f, f.b.Report(&s.report, f.now))
		if f.also != nil {
			require.NoError(f, f.also.report(&s.report))
		}
	case 9: // the finals of a minute are answered; the shard forgets it
		for m := range s.minutes {
			if window.MinuteOf(f.now) > m+f.lateness {
				for _, st := range s.send(m, true) {
					f.send(st)
				}
				delete(s.minutes, m)
			}
		}
	case 10:
		f.now += f.r.Int64N(int64(90 * time.Second))
	case 11:
		f.now += []int64{int64(time.Second), int64(7 * time.Minute), int64(50 * time.Minute)}[f.r.IntN(3)]
	}
	f.publish()
}

// worlds is how many random fleets the tests of a law try. A board has no goroutine, so the race detector has little to find: what
// boards side by side share. It makes the tests ten times slower, so `make test` also runs them without.
func worlds() uint64 {
	if testing.Short() || raceEnabled {
		return 40
	}
	return 200
}

// TestListsNeverUndercountAndTotalsAreExact holds after every step of random fleets, also while sets are half there.
func TestListsNeverUndercountAndTotalsAreExact(t *testing.T) {
	for seed := range worlds() {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, seed, false)
			for range 150 {
				f.step(false)
			}
		})
	}
}

// TestExactSummariesMakeExactLists: as long as no table overflowed, what is published is the exact count.
func TestExactSummariesMakeExactLists(t *testing.T) {
	for seed := range worlds() {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, seed, true)
			for range 100 {
				f.step(true)
			}
			f.deliver(0)
			for _, s := range f.shards {
				f.emit(s)
			}
			f.deliver(0)
			f.publish()
			f.oracle.checkExact(t)
		})
	}
}
