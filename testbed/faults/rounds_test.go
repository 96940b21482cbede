// Package faults holds the built binary to what it promises under faults: processes that are killed, stored values that are
// damaged, disks that are full, networks that lie. What a client was answered must be counted, and nothing twice.
package faults

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	rounds  = flag.Int("rounds", 3, "rounds of each kind of fault")
	seed    = flag.Uint64("seed", 0, "of the first round of each kind; 0: a new one")
	results = flag.String("results", "", "`folder` to write a report to; empty: none")
)

// kind of fault.
type kind struct {
	name  string
	picks func(f *fleet, rng *rand.Rand) []*member // who is killed next
}

var kinds = []kind{
	{"agent", func(f *fleet, rng *rand.Rand) []*member { return []*member{f.agents[rng.IntN(len(f.agents))]} }},
	{"gateway", func(f *fleet, _ *rand.Rand) []*member { return []*member{f.gateway} }},
	{"both", func(f *fleet, rng *rand.Rand) []*member {
		who := []*member{f.gateway, f.agents[rng.IntN(len(f.agents))]}
		rng.Shuffle(len(who), func(i, j int) { who[i], who[j] = who[j], who[i] })
		return who
	}},
}

// chosenSeed is the one that was asked for, or a new one.
func chosenSeed() uint64 {
	if *seed != 0 {
		return *seed
	}
	return rand.Uint64() >> 32
}

func TestKilledProcessesLoseNothingThatWasAnswered(t *testing.T) {
	first := chosenSeed()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel() // most of the time is waiting
			s := newSeries(t, k, first)
			for range *rounds {
				s.round(t)
			}
		})
	}
}

// series is the rounds of one kind on one fleet, which lives through all of them.
type series struct {
	kind    kind
	seed    uint64 // of the next round
	fleet   *fleet
	ledger  *ledger
	clients []*client
	watch   *watch
	lines   []string // of the report
}

func newSeries(t *testing.T, k kind, seed uint64) *series {
	t.Helper()
	lateness := untilMinute(20 * time.Second)
	s := &series{kind: k, seed: seed, ledger: newLedger()}
	s.fleet = startFleet(t, settings{clock: "wall", lateness: lateness, agents: 2})
	s.clients = s.fleet.clients(t, seed, 2, workload{records: 100, pause: 40 * time.Millisecond, slots: 100}, s.ledger)
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
	what := fmt.Sprintf("kind %s, seed %d", s.kind.name, s.seed)
	t.Log(what)
	rng := rand.New(rand.NewPCG(s.seed, 2))
	s.seed++
	load := startLoad(s.clients)
	kills := 1 + rng.IntN(3)
	for range kills {
		pause(rng, 300*time.Millisecond, 2500*time.Millisecond)
		who := s.kind.picks(s.fleet, rng)
		for _, m := range who {
			m.kill()
			pause(rng, 0, 300*time.Millisecond)
		}
		for _, m := range who {
			m.restart(t, rng)
		}
	}
	pause(rng, 300*time.Millisecond, time.Second)
	load.end()
	quiet := time.Now()
	require.NoError(t, settled(s.fleet.gateway.api, s.ledger, s.watch.queries, quiet.Add(time.Second), 20*time.Second), what)
	require.NoError(t, s.watch.found(), what)
	line := fmt.Sprintf("%s: %d kills, %v of load and %v until it was settled; so far %v", what, kills,
		quiet.Sub(start).Round(100*time.Millisecond), time.Since(quiet).Round(100*time.Millisecond), s.ledger)
	t.Log(line)
	s.lines = append(s.lines, strings.ReplaceAll(line, "|", "/"))
}
