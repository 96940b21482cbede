package trendreceiver

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/uplink"
	"github.com/otel-topk/collector/internal/wire"
)

// final is a request of the complete states of a shard in the minute of now.
func (s *shard) final(now time.Time, weights map[string]uint64) *wire.State {
	st := s.state(now, rule.Group{}, weights)
	st.Final = true
	return st
}

func TestWhatIsLiveGoesUpAndWhatIsFoldedGoesUpOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		above := newAbove(t)
		r := newTier(t, newDisk(t), above, nil).start()
		a, b := newShard(t, 1), newShard(t, 2)
		minute := time.Now()
		r.take(a.counted(map[string]uint64{"x": 3}))
		r.take(b.counted(map[string]uint64{"x": 2}))
		time.Sleep(emitInterval + time.Second)
		synctest.Wait()
		assert.EqualValues(t, 5, above.total(), "open")

		r.take(a.request(a.final(minute, map[string]uint64{"x": 4})))
		time.Sleep(time.Minute)
		r.publish(t.Context())
		time.Sleep(emitInterval + time.Second)
		synctest.Wait()
		assert.EqualValues(t, 6, above.total(), "one is folded, one is open")
		assert.Zero(t, r.metric("finals_pending"))
		assert.Zero(t, r.metric("pending_bytes"))
		r.end()
		above.end()
	})
}

func TestTheLastOpenStatesGoUpAtTheEnd(t *testing.T) {
	for name, replicas := range map[string]string{"with a storage": "", "without": "west"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				above := newAbove(t)
				d := newDisk(t)
				if replicas != "" {
					d = nil
				}
				r := newTier(t, d, above, func(c *Config) { c.ReplicaSet = replicas }).start()
				r.take(newShard(t, 1).counted(map[string]uint64{"x": 3}))
				r.end()
				assert.EqualValues(t, 3, above.total())
				above.end()
			})
		})
	}
}

// Of two sets of one minute one is folded while the storage fails: what is still open then moves to the set that comes after it, and
// would count twice if it came first.
func TestFinalStatesThatWereDurableLateGoBeforeWhatCameAfterThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		above, d := newAbove(t), newDisk(t)
		r := newTier(t, d, above, nil).start()
		a, b := newShard(t, 1), newShard(t, 2)
		r.take(a.request(a.final(time.Now(), map[string]uint64{"x": 3})))
		r.take(b.counted(map[string]uint64{"x": 2}))
		time.Sleep(emitInterval + time.Second)
		synctest.Wait()
		first := len(above.came())
		require.Positive(t, first)

		d.fail(errFull)
		time.Sleep(time.Minute)
		r.publish(t.Context())
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Len(t, above.came(), first+repeats(above.came()[first:]), "nothing goes up that is not durable")
		assert.EqualValues(t, 1, r.metric("finals_pending"))
		before := len(above.came())

		d.fail(nil)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		news := above.came()[before:]
		require.NotEmpty(t, news)
		assert.True(t, news[0].Final, "the final one first")
		assert.EqualValues(t, 5, above.total())
		r.end()
		above.end()
	})
}

// repeats are states that came unchanged.
func repeats(states []*wire.State) (n int) {
	for _, s := range states {
		if !s.Final && s.Weight == 5 {
			n++
		}
	}
	return n
}

func TestFinalStatesThatWereNotAnsweredGoUpAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		above, d := newAbove(t), newDisk(t)
		r := newTier(t, d, above, nil).start()
		s := newShard(t, 1)
		above.answers(errAbove)
		r.take(s.request(s.final(time.Now(), map[string]uint64{"x": 3})))
		time.Sleep(time.Minute)
		r.end()
		assert.Zero(t, above.total())
		assert.Zero(t, r.observed.logs.FilterMessageSnippet("their counts are lost above").Len())

		above.answers(nil)
		for range 2 {
			next := newTier(t, d, above, nil).start()
			assert.Equal(t, r.ascent.board.Sender, next.ascent.board.Sender)
			time.Sleep(time.Minute)
			synctest.Wait()
			assert.EqualValues(t, 3, above.total())
			next.end()
		}
		finals := 0
		for _, s := range above.came() {
			if s.Final {
				finals++
			}
		}
		assert.Equal(t, 1, finals)
		above.end()
	})
}

func TestTheEpochOfAGatewayOutlastsDamage(t *testing.T) {
	for _, key := range senderKeys {
		t.Run(key, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				above, d := &above{}, newDisk(t)
				r := newTier(t, d, above, nil).start()
				id := r.ascent.board.Sender
				r.end()
				for range 2 {
					require.True(t, d.damage(t, key))
					next := newTier(t, d, above, nil).start()
					assert.Equal(t, id, next.ascent.board.Sender)
					next.end()
				}
			})
		})
	}
}

func damageSender(t *testing.T, d *disk) {
	for _, key := range senderKeys {
		require.True(t, d.damage(t, key))
	}
}

func TestNothingGoesUpWithoutTheStorageUnlessAReplicaCounts(t *testing.T) {
	for name, tt := range map[string]struct {
		replicas string
		broken   func(*testing.T, *disk)
		up       bool
	}{
		"a storage that cannot be opened":         {broken: func(_ *testing.T, d *disk) { d.opening = errors.New("read-only") }},
		"the same, with a replica":                {broken: func(_ *testing.T, d *disk) { d.opening = errors.New("read-only") }, replicas: "west", up: true},
		"an epoch that cannot be read":            {broken: func(_ *testing.T, d *disk) { d.reading = errors.New("bad sector") }},
		"an epoch of which both copies are wrong": {broken: damageSender},
		"the same, with a replica, of both":       {broken: damageSender, replicas: "west", up: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				above, d := newAbove(t), newDisk(t)
				newTier(t, d, above, nil).start().end()
				tt.broken(t, d)
				r := newTier(t, d, above, func(c *Config) { c.ReplicaSet = tt.replicas }).start()
				r.take(newShard(t, 1).counted(map[string]uint64{"x": 3}))
				time.Sleep(time.Minute)
				synctest.Wait()
				assert.EqualValues(t, 3, r.total(), "its own lists go on")
				want := uint64(0)
				if tt.up {
					want = 3
				}
				assert.Equal(t, want, above.total())
				assert.Equal(t, tt.up, r.metric("gateway_up") == 1)
				told := r.observed.logs.FilterMessageSnippet("Nothing goes up to gateways").Len()
				assert.Equal(t, !tt.up, told == 1)
				r.end()
				above.end()
			})
		})
	}
}

func TestWhatWaitsForTheGatewayAndForTheStorageStaysBelowPending(t *testing.T) {
	for name, fail := range map[string]func(*disk, *above){
		"the gateway is down": func(_ *disk, a *above) { a.answers(errAbove) },
		"the storage is full": func(d *disk, _ *above) { d.fail(errFull) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				above, d := &above{}, newDisk(t)
				r := newTier(t, d, above, func(c *Config) { c.Pending = 1 << 20 }).start()
				fail(d, above)
				random := rand.New(rand.NewPCG(1, 2))
				for minute := range 25 {
					s := newShard(t, byte(minute))
					s.rule.Residents, s.rule.K = 4000, 3
					weights := map[string]uint64{}
					for range 4000 {
						weights[fmt.Sprint(random.Uint64(), strings.Repeat("k", 8))] = random.Uint64N(1000)
					}
					_ = r.consume(t.Context(), s.request(s.final(time.Now(), weights)))
					time.Sleep(time.Minute)
					r.publish(t.Context())
					assert.LessOrEqual(t, r.metric("pending_bytes"), int64(1<<20))
				}
				assert.Positive(t, r.metric("finals_dropped"))
				assert.Equal(t, r.metric("folded"), r.metric("finals_dropped")+r.metric("finals_pending"))
				d.fail(nil)
				above.answers(nil)
				time.Sleep(time.Minute)
				synctest.Wait()
				assert.Zero(t, r.metric("finals_pending"))
				r.end()
			})
		})
	}
}

func TestWhatGoesUpIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		above := &above{}
		r := newTier(t, newDisk(t), above, nil).start()
		s := newShard(t, 1)
		minute := time.Now()
		r.take(s.counted(map[string]uint64{"x": 3}))
		time.Sleep(3 * time.Second)
		synctest.Wait()
		assert.EqualValues(t, 1, r.metric("gateway_up"))
		assert.EqualValues(t, 1, r.metric("states_sent"))
		assert.Positive(t, r.metric("sent_bytes"))
		assert.EqualValues(t, above.asked(), r.metric("requests"))

		above.answers(errAbove)
		r.take(s.request(s.final(minute, map[string]uint64{"x": 3})))
		time.Sleep(time.Minute)
		r.publish(t.Context())
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.EqualValues(t, 0, r.metric("gateway_up"))
		assert.EqualValues(t, 1, r.metric("finals_pending"))
		assert.Positive(t, r.metric("pending_bytes"))
		assert.EqualValues(t, above.asked(), r.metric("requests"))

		time.Sleep(r.cfg.Retain)
		synctest.Wait()
		assert.Zero(t, r.metric("finals_pending"))
		assert.EqualValues(t, 1, r.metric("finals_dropped"))
		r.end()
	})
}

func TestAStateThatIsRefusedForGoodIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		above := &above{refuses: func(s *wire.State) error {
			if s.Final {
				return consumererror.NewPermanent(errors.New("a bad state"))
			}
			return nil
		}}
		r := newTier(t, newDisk(t), above, nil).start()
		s := newShard(t, 1)
		r.take(s.request(s.final(time.Now(), map[string]uint64{"x": 3})))
		time.Sleep(time.Minute)
		r.publish(t.Context())
		time.Sleep(10 * time.Second)
		synctest.Wait()
		assert.EqualValues(t, 1, r.metric("states_refused"))
		assert.EqualValues(t, 1, r.metric("finals_dropped"))
		assert.Zero(t, r.metric("finals_pending"))
		r.end()
	})
}

func TestTheMostMemoryOfAGatewayThatSendsUpIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		above := &above{}
		r := newTier(t, newDisk(t), above, func(c *Config) {
			c.Gateways = append(c.Gateways, uplink.NewDefaultGateway())
			c.Pending = 5 << 20
		}).start()
		line := r.observed.logs.FilterMessage("Merging").All()[0].ContextMap()
		assert.Equal(t, uplink.MemoryBound(5<<20, 2, wire.MaxBodyBytes), line["uplink_bytes"])
		alone := newTier(t, newDisk(t), nil, nil).start()
		without := alone.observed.logs.FilterMessage("Merging").All()[0].ContextMap()
		assert.Zero(t, without["uplink_bytes"])
		more := line["states_bytes"].(int64) - without["states_bytes"].(int64)
		assert.Positive(t, more, "what goes up is merged")
		assert.Equal(t, without["memory_bound_bytes"].(int64)+more+line["uplink_bytes"].(int64), line["memory_bound_bytes"])
		alone.end()
		r.end()
	})
}
