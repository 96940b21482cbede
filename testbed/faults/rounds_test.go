// Package faults holds the built binary to what it promises under faults: processes that are killed, stored values that are
// damaged, disks that are full, networks that lie. What a client was answered must be counted, and nothing twice.
package faults

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	rounds  = flag.Int("rounds", 3, "rounds of each kind of fault")
	seed    = flag.Uint64("seed", 0, "of the first round of each kind; 0: a new one")
	results = flag.String("results", "", "`folder` to write a report to; empty: none")
)

// chosenSeed is the one that was asked for, or a new one.
func chosenSeed() uint64 {
	if *seed != 0 {
		return *seed
	}
	return rand.Uint64() >> 32
}

func TestKilledProcessesLoseNothingThatWasAnswered(t *testing.T) {
	t.Parallel()
	first := chosenSeed()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel() // most of the time is waiting
			s := newSeries(t, k, first)
			defer s.report(t)
			for range *rounds {
				s.round(t)
			}
		})
	}
}

// series is the rounds of one kind on one fleet, which lives through all of them.
type series struct {
	kind
	seed    uint64 // of the next round
	rng     *rand.Rand
	fleet   *fleet
	ledger  *ledger
	clients []*client
	watch   *watch
	tally
}

func newSeries(t *testing.T, k kind, seed uint64) *series {
	t.Helper()
	s := &series{kind: k, seed: seed, ledger: newLedger(), tally: tally{kind: k.name, first: seed}}
	s.fleet = startFleet(t, settings{clock: "wall", lateness: untilMinute(20 * time.Second), stagger: 20 * time.Second, agents: k.agents})
	s.clients = s.fleet.clients(t, seed, 3, k.workload, s.ledger)
	s.watch = startWatch(s.fleet.gateway.api, queries())
	t.Cleanup(s.watch.end)
	return s
}

// untilMinute is a lateness with which a minute closes after that time, and then each minute.
func untilMinute(after time.Duration) time.Duration {
	at := time.Now().Add(after)
	return at.Sub(at.Truncate(time.Minute)).Truncate(time.Second)
}

// round of some seconds under load with kills at random moments, and then the counts.
func (s *series) round(t *testing.T) {
	t.Helper()
	start := time.Now()
	what := fmt.Sprintf("kind %s, seed %d", s.name, s.seed)
	t.Log(what)
	s.rng = rand.New(rand.NewPCG(s.seed, 2))
	s.seed++
	load := startLoad(s.clients)
	for range 1 + s.rng.IntN(3) {
		pause(s.rng, 300*time.Millisecond, 2500*time.Millisecond)
		s.strike(t, what)
	}
	pause(s.rng, 300*time.Millisecond, time.Second)
	load.end()
	quiet := time.Now()
	require.NoError(t, settled(s.fleet.gateway.api, s.ledger, s.watch.queries), what)
	require.NoError(t, s.watch.found(), what)
	s.rounds++
	t.Logf("%s: %v of load, settled in %v; so far %v", what,
		quiet.Sub(start).Round(100*time.Millisecond), time.Since(quiet).Round(100*time.Millisecond), s.ledger)
}

// report of the rounds so far.
func (s *series) report(t *testing.T) {
	for _, m := range s.fleet.members() {
		s.kills += m.kills
	}
	s.add(s.ledger)
	s.tally.report(t, s.watch.count())
}

// awaitEdge waits, three times of four, for the next moment at which an agent closes a minute or the gateway folds one, if it is
// near.
func (s *series) awaitEdge() {
	const near = 6 * time.Second
	offsets := []time.Duration{0}
	for _, agent := range s.fleet.agents {
		offsets = append(offsets, agent.lateness)
	}
	for _, offset := range offsets {
		edge := time.Now().Add(near - offset).Truncate(time.Minute).Add(offset)
		if wait := time.Until(edge); wait > 0 && s.rng.IntN(4) > 0 {
			pause(s.rng, wait, wait+600*time.Millisecond)
			return
		}
	}
}

// strike kills and starts again.
func (s *series) strike(t *testing.T, what string) {
	t.Helper()
	victims := s.victims(s.fleet, s.rng)
	if s.moment != nil {
		s.moment(t, victims[0], s.rng)
	} else {
		s.awaitEdge()
	}
	for _, m := range victims {
		m.kill()
		if s.moment != nil {
			if _, begun := newestCheckpoint(m.stored(t)); begun {
				s.halves++
			}
		}
		pause(s.rng, 0, 300*time.Millisecond)
	}
	for _, m := range victims {
		if s.hurt == nil {
			m.restart(t, s.rng)
			continue
		}
		n := s.hurt(t, s, m)
		s.hurts += n
		m.start(t)
		require.GreaterOrEqual(t, m.damaged(t), float64(n), "damaged values that %s counts: %s", m.name, what)
	}
}
