package topkprocessor

import (
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/otel-topk/collector/processor/topkprocessor/internal/metadata"
)

// TestClockThatJumpsLosesNothingUnseen: a wall clock that jumps back and forth by an hour, records that are stamped by it or
// by one that is right, and crashes in between.
func TestClockThatJumpsLosesNothingUnseen(t *testing.T) {
	for range 5 {
		seed := rand.Uint64()
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { jump(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

const patient = stored + "retain: 24h\n"

func jump(t *testing.T, r *rand.Rand) {
	folder, gw := t.TempDir(), &setGateway{}
	var off atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(off.Load())) }
	var counted, refused, sent uint64
	for range 3 {
		m := newMachine(t, folder)
		created, err := newFactory(connectFrom(m, gw)).CreateLogs(t.Context(), processortest.NewNopSettings(metadata.Type), mustParse(t, patient), consumertest.NewNop())
		require.NoError(t, err)
		p := created.(*logs)
		p.counter.now = now
		require.NoError(t, p.Start(t.Context(), m))
		for range 60 {
			switch r.IntN(8) {
			case 0:
				off.Store(int64(r.IntN(3)-1) * int64(time.Hour))
			case 1:
				p.counter.vault.checkpoint()
			default:
				at := []time.Time{now(), time.Now()}[r.IntN(2)]
				require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(at, "a", "b")))
				sent += 2
			}
			time.Sleep(time.Duration(r.IntN(20)) * time.Second)
		}
		tally := &p.counter.ledgers[0].tally
		counted += tally.counted.Load()
		refused += tally.late.Load() + tally.future.Load()
		if r.IntN(2) == 0 {
			m.kill(t, p)
		} else {
			stop(t, p)
		}
	}
	off.Store(0)
	stop(t, newMachine(t, folder).start(t, patient, gw))
	assert.Equal(t, sent, counted+refused)
	assert.Equal(t, counted, gw.total("tenants"))
	assert.Empty(t, gw.wrong)
	for id, set := range gw.sets {
		assert.True(t, set.complete, "%v", id)
	}
}
