package faults

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// kind of fault.
type kind struct {
	name   string
	agents int
	workload
	victims func(f *fleet, rng *rand.Rand) []*member         // who is killed next
	moment  func(t *testing.T, m *member, rng *rand.Rand)    // waits for the time to kill; nil: at random
	hurt    func(t *testing.T, s *series, m *member) (n int) // what is done to stored values before the restart, of how many; nil: nothing
}

// light batches leave no checkpoint but those of the start; of heavy ones the journal is full every second or so.
var (
	light = workload{records: 40, pause: 15 * time.Millisecond, slots: 80}
	heavy = workload{records: 100, pause: 10 * time.Millisecond, slots: 80, keyBytes: 4000}
)

var kinds = []kind{
	{name: "agent", agents: 2, workload: light, victims: anAgent},
	{name: "gateway", agents: 2, workload: light, victims: theGateway},
	{name: "both", agents: 2, workload: light, victims: anyOrderOfBoth},
	{name: "checkpoint", agents: 1, workload: heavy, victims: anAgent, moment: aCheckpoint},
	{name: "damaged", agents: 1, workload: heavy, victims: anAgent, hurt: theNewestCheckpoint},
}

func anAgent(f *fleet, rng *rand.Rand) []*member { return []*member{f.agents[rng.IntN(len(f.agents))]} }

func theGateway(f *fleet, _ *rand.Rand) []*member { return []*member{f.gateway} }

func anyOrderOfBoth(f *fleet, rng *rand.Rand) []*member {
	who := append(anAgent(f, rng), f.gateway)
	rng.Shuffle(len(who), func(i, j int) { who[i], who[j] = who[j], who[i] })
	return who
}

// aCheckpoint waits until the agent writes more at once than a request makes it.
func aCheckpoint(t *testing.T, m *member, rng *rand.Rand) {
	t.Helper()
	const burst = 3 << 19
	before := m.written(t)
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); {
		<-time.After(time.Millisecond)
		now := m.written(t)
		if now-before > burst {
			pause(rng, 0, 2*time.Millisecond)
			return
		}
		before = now
	}
}

// written is how many bytes the process wrote so far.
func (m *member) written(t *testing.T) (n int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", m.PID()))
	require.NoError(t, err)
	for line := range bytes.Lines(text) {
		if number, ok := bytes.CutPrefix(line, []byte("wchar: ")); ok {
			n, err = strconv.Atoi(string(bytes.TrimSpace(number)))
			require.NoError(t, err)
		}
	}
	return n
}

// theNewestCheckpoint of an agent is damaged: one of its values.
func theNewestCheckpoint(t *testing.T, s *series, m *member) int {
	t.Helper()
	parts, _ := newestCheckpoint(m.stored(t))
	require.NotEmpty(t, parts, "a checkpoint")
	parts[s.rng.IntN(len(parts))].flip(t, s.rng)
	return 1
}
