package trendreceiver

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/receiver"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire"
)

// lives are gateways one after the other, on one disk and with one clock, which the test moves.
type lives struct {
	testing.TB
	disk   *disk
	at     atomic.Int64
	change func(*Config) // nil: nothing
}

// newLives has its clock in the middle of a minute.
func newLives(t testing.TB) *lives {
	l := &lives{TB: t, disk: newDisk(t)}
	l.at.Store(time.Now().Truncate(time.Hour).Add(30*time.Minute + 30*time.Second).UnixNano())
	return l
}

func (l *lives) now() time.Time { return time.Unix(0, l.at.Load()) }

func (l *lives) pass(by time.Duration) { l.at.Add(int64(by)) }

// life is a gateway of which nothing is seen any more once it is killed.
type life struct {
	*gateway
	lives  *lives
	killed atomic.Bool // nothing is seen any more
	gone   atomic.Bool // nothing is written any more
}

func (l *lives) start(w *wall) *life {
	g := &life{lives: l, gateway: storedGateway(l, l.disk, func(c *Config) {
		c.Windows = []time.Duration{5 * time.Minute, time.Hour}
		if l.change != nil {
			l.change(c)
		}
	})}
	lists, err := consumer.NewLogs(func(ctx context.Context, ld plog.Logs) error {
		if g.killed.Load() {
			return nil
		}
		return w.ConsumeLogs(ctx, ld)
	})
	require.NoError(l, err)
	g.logs(lists)
	g.trend().now = l.now
	g.start()
	return g
}

// kill ends a life as the end of its process would: nothing is written or published any more.
func (g *life) kill() {
	g.killed.Store(true)
	g.lives.disk.kill(g)
	g.gone.Store(true)
}

// bury waits for what is left of a life that was killed.
func (g *life) bury() {
	if g.conn != nil {
		require.NoError(g, g.conn.Close())
		g.conn = nil
	}
	for _, p := range g.parts {
		_ = p.Shutdown(context.Background()) // says that the storage is gone
	}
	g.parts = nil
}

func TestAfterAKillTheListsOfBeforeAreThereAtOnce(t *testing.T) {
	l, w := newLives(t), newWall(t)
	g := l.start(w)
	total := sendGroups(t, g.gateway, l.now())
	w.until(func() bool { return w.global().Total == total }, "everything is published")
	before := w.shown()
	require.Len(t, before, 6, "global, eu and us, in two windows")
	g.kill()
	g.bury()

	after := newWall(t)
	started := time.Now()
	l.start(after)
	after.until(func() bool { return len(after.shown()) == len(before) }, "all lists are there")
	assert.Less(t, after.first.Sub(started), time.Second)
	assertSameLists(t, before, after.shown())
}

func TestAReloadGoesOnWithTheListsOfBefore(t *testing.T) {
	l, w := newLives(t), newWall(t)
	g := l.start(w)
	total := sendGroups(t, g.gateway, l.now())
	g.shutdown(t.Context())
	g.parts = nil
	require.Equal(t, total, w.global().Total, "published at the end")
	before := w.shown()

	defer func(f receiver.Factory) { factory = f }(factory)
	factory = NewFactory() // as SIGHUP makes them anew
	after := newWall(t)
	next := l.start(after)
	after.until(func() bool { return len(after.shown()) == len(before) }, "all lists are there")
	assertSameLists(t, before, after.shown())
	require.NoError(t, next.send(newShard(t, 9).grouped().requestAt(l.now(), "eu", map[string]uint64{"a": 4})))
	after.until(func() bool { return after.global().Total == total+4 }, "it goes on")
}

// sendGroups sends three minutes of three shards, of which the first minute is final, and returns the total.
func sendGroups(t testing.TB, g *gateway, now time.Time) (total uint64) {
	for i := range uint64(3) {
		s := newShard(t, byte(i+1)).grouped()
		for m := range time.Duration(3) {
			eu := s.state(now.Add(-m*time.Minute), rule.Group{Scope: rule.ScopeGroup, Name: "eu"}, map[string]uint64{"a": 5, "b": i + 1})
			us := s.state(now.Add(-m*time.Minute), rule.Group{Scope: rule.ScopeGroup, Name: "us"}, map[string]uint64{"c": 2})
			for _, st := range []*wire.State{eu, us} {
				st.Groups, st.Final = 2, m == 2
			}
			require.NoError(t, g.send(s.request(eu, us)))
			total += 5 + i + 1 + 2
		}
	}
	return total
}

func assertSameLists(t testing.TB, want, got map[series]*wire.Snapshot) {
	for id, list := range got {
		assert.Equal(t, want[id].List, list.List, id)
		assert.Equal(t, want[id].Total, list.Total, id)
		assert.Equal(t, want[id].Records, list.Records, id)
	}
}

func TestKilledAtAnyMomentAGatewayCountsWhatItAnsweredAndNothingTwice(t *testing.T) {
	const shards, kills = 4, 12
	seed := rand.Uint64()
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	l, w := newLives(t), newWall(t)
	var all []*counter
	for i := range byte(shards) {
		all = append(all, &counter{shard: newShard(t, i+1)})
	}
	for range kills {
		g := l.start(w)
		g.dial()
		var sending sync.WaitGroup
		for _, c := range all {
			sending.Go(func() {
				for c.send(g.gateway, l.now()) {
					if g.gone.Load() { // this one may have been stored before
						assert.False(t, c.send(g.gateway, l.now()), "what is not stored is answered")
						return
					}
				}
			})
		}
		time.Sleep(time.Duration(random.IntN(150)) * time.Millisecond)
		g.kill()
		sending.Wait()
		g.bury()
		l.pass(time.Duration(random.IntN(40)) * time.Second)
	}

	g := l.start(w)
	hour := func() uint64 {
		if s := w.shown()[series{"tenants", time.Hour, rule.Group{}}]; s != nil {
			return s.Total
		}
		return 0
	}
	answered := sumOf(all, func(c *counter) uint64 { return c.answered })
	w.until(func() bool { return hour() >= answered }, "what was answered is there")
	for range 3 { // open, closed and repeated
		for _, c := range all {
			require.True(t, c.send(g.gateway, l.now()))
		}
		l.pass(time.Minute)
	}
	exact := sumOf(all, func(c *counter) uint64 { return c.counted })
	w.until(func() bool { return hour() >= exact }, "what was sent is there")
	assert.Equal(t, exact, hour())
}

// counter is a shard that counts one more record with each request, and closes a minute when the next one has begun.
type counter struct {
	*shard
	minute            time.Time
	inMinute          uint64
	finals            []*wire.State // not answered
	counted, answered uint64        // records
}

// send all that is to be sent, and say whether it was answered.
func (c *counter) send(g *gateway, now time.Time) bool {
	if minute := now.Truncate(time.Minute); !minute.Equal(c.minute) {
		if c.inMinute > 0 {
			final := c.state(c.minute, rule.Group{}, map[string]uint64{"a": c.inMinute})
			final.Final = true
			c.finals = append(c.finals, final)
		}
		c.minute, c.inMinute = minute, 0
	}
	c.inMinute++
	c.counted++
	open := c.state(c.minute, rule.Group{}, map[string]uint64{"a": c.inMinute})
	if g.send(c.request(append(c.finals, open)...)) != nil {
		return false
	}
	c.answered, c.finals = c.counted, nil
	return true
}

func sumOf(all []*counter, of func(*counter) uint64) (n uint64) {
	for _, c := range all {
		n += of(c)
	}
	return n
}
