package faults

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
)

// What is damaged at the gateway may be lost, and nothing else: it is reported and counted, lists are served all along, what
// comes later is counted, and nothing is counted twice.
func TestADamagedValueOfTheGatewayIsReportedAndTheRestIsServed(t *testing.T) {
	t.Parallel()
	first := chosenSeed()
	f := startFleet(t, settings{clock: "wall", lateness: untilMinute(20 * time.Second), agents: 2})
	w := startWatch(f.gateway.api, queries())
	t.Cleanup(w.end)
	w.allowLoss()
	l := newLedger()
	done := tally{kind: "damaged gateway", first: first}
	defer func() {
		done.kills = f.gateway.kills
		for _, o := range append(l.others, l) {
			done.add(o)
		}
		done.report(t, w.count())
	}()
	for i := range *rounds {
		seed := first + uint64(i)
		what := fmt.Sprintf("kind damaged gateway, seed %d", seed)
		rng := rand.New(rand.NewPCG(seed, 5))
		work := light
		work.slots = 10
		load := startLoad(f.clients(t, seed, 1, work, l))
		pause(rng, 2*time.Second, 5*time.Second)
		f.gateway.kill()
		load.end()
		chosen := f.gateway.damage(t, rng)
		what = fmt.Sprintf("%s, damaged: %q", what, chosen)
		f.gateway.start(t)
		if known := len(chosen) - unread(chosen); known > 0 {
			require.GreaterOrEqual(t, f.gateway.damaged(t), float64(known), what)
			assert.Eventually(t, func() bool { return strings.Contains(f.gateway.Output(), "\terror\t") }, patience, 100*time.Millisecond,
				"what is damaged is told: %s", what)
		}

		later := newLedger()
		later.mayHold(l)
		for _, o := range l.others {
			later.mayHold(o)
		}
		l = later
		load = startLoad(f.clients(t, seed+1, 1, work, l))
		pause(rng, time.Second, 2*time.Second)
		load.end()
		require.NoError(t, settled(f.gateway.api, l, queries()), what)
		require.NoError(t, w.found(), what)
		t.Log(what)
		done.rounds++
		done.hurts += len(chosen)
	}
}

// unread is how many of the keys are of values that are read when they are needed, not at the start.
func unread(keys []string) (n int) {
	for _, key := range keys {
		if strings.Contains(key, ": part/") || strings.Contains(key, ": rollup/") {
			n++
		}
	}
	return n
}

// damage one value each of some families, and return their keys.
func (m *member) damage(t *testing.T, rng *rand.Rand) (keys []string) {
	t.Helper()
	families := make(map[string][]place)
	var names []string
	for _, p := range m.stored(t) {
		if strings.HasPrefix(p.key, "damaged/") {
			continue // was set aside before
		}
		if families[p.family()] = append(families[p.family()], p); len(families[p.family()]) == 1 {
			names = append(names, p.family())
		}
	}
	rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names[:1+rng.IntN(min(2, len(names)))] {
		p := families[name][rng.IntN(len(families[name]))]
		p.flip(t, rng)
		keys = append(keys, name+": "+p.key)
	}
	slices.Sort(keys)
	return keys
}

// damaged is how many stored values the member has set aside since it started.
func (m *member) damaged(t *testing.T) (n float64) {
	t.Helper()
	text := m.Telemetry(t)
	if m.api == nil {
		return collector.Value(t, text, "otelcol_processor_topk_stored_damaged")
	}
	return collector.Value(t, text, "otelcol_receiver_trend_stored_damaged") + collector.Value(t, text, "otelcol_exporter_topk_stored_damaged")
}
