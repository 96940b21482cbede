package topkprocessor

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/extension/xextension/storage"
)

func TestWhatWasAnsweredOutlastsACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder, gw := t.TempDir(), &setGateway{}
		m := newMachine(t, folder)
		p := m.start(t, stored, gw)
		for range 100 {
			require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "a", "b", "a")))
			time.Sleep(time.Second)
		}
		m.kill(t, p)
		n := newMachine(t, folder)
		q := n.start(t, stored, gw)
		stop(t, q)
		assert.EqualValues(t, 300, gw.total("tenants"))
		assert.Empty(t, gw.wrong)
		assert.True(t, gw.goodbyes[p.counter.epoch])
		assert.True(t, gw.goodbyes[q.counter.epoch])
	})
}

func TestKilledAtAnyMomentNothingAnsweredIsLostAndNothingCountsTwice(t *testing.T) {
	const rounds = 8
	for range rounds {
		seed := rand.Uint64()
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, seed)
				for range 4 {
					w.live()
				}
				w.settle()
				w.check()
				w.checkStorage()
			})
		})
	}
}

func TestKilledUnderConcurrentRequestsAndCheckpoints(t *testing.T) {
	for range 2 {
		seed := rand.Uint64()
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			w := newWorld(t, seed)
			w.event, w.late, w.yaml = false, 11*time.Minute, worldRules+"emit_interval: 100ms\nlateness: 10m\n"
			for range 2 {
				w.rush()
			}
			w.machine = newMachine(t, w.folder)
			w.start()
			stop(t, w.shard)
			w.check()
			w.checkStorage()
		})
	}
}

// rush until the process is killed, while it is asked for one checkpoint after the other.
func (w *world) rush() {
	w.machine = newMachine(w.t, w.folder)
	left := atomic.Int64{}
	left.Store(int64(20 + w.r.IntN(500)))
	w.machine.onWrite = func([]*storage.Operation) error {
		if left.Add(-1) == 0 {
			w.machine.dead.Store(true)
		}
		return nil
	}
	w.start()
	var wg sync.WaitGroup
	each := make([]*world, 8)
	for i := range each {
		each[i] = &world{t: w.t, r: rand.New(rand.NewPCG(w.r.Uint64(), 1)), late: w.late, machine: w.machine, shard: w.shard, answered: newTruth(), sent: newTruth()}
		wg.Go(func() {
			for !w.machine.dead.Load() {
				each[i].request()
			}
		})
	}
	wg.Go(func() {
		for !w.machine.dead.Load() {
			w.shard.counter.vault.checkpoint()
		}
	})
	wg.Wait()
	for _, one := range each {
		w.answered.join(one.answered)
		w.sent.join(one.sent)
	}
	w.machine.kill(w.t, w.shard)
}

func TestCheckpointOfManyPartsAndRequestsOfManyEntriesAreReadWhole(t *testing.T) {
	folder, gw := t.TempDir(), &setGateway{}
	yaml := stored + "lateness: 2h\nretain: 3h\n"
	yaml = strings.Replace(yaml, "    key:", "    group_by: log.attributes[\"region\"]\n    max_key_bytes: 2000\n    key:", 1)
	m := newMachine(t, folder)
	p := m.start(t, yaml, gw)
	now := time.Now()
	consume := func(times int) {
		for region := range 12 {
			names := make([]string, 600)
			for i := range names {
				names[i] = fmt.Sprintf("%d-%01500d", region, i)
			}
			ld := tenantLogs(now, names...)
			for _, lr := range ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().All() {
				lr.Attributes().PutInt("region", int64(region))
			}
			for range times {
				require.NoError(t, p.ConsumeLogs(t.Context(), ld))
			}
		}
	}
	consume(2)
	p.counter.vault.checkpoint()
	assert.Greater(t, p.counter.vault.kept[1].parts, 1)
	consume(1)
	m.kill(t, p)
	q := newMachine(t, folder).start(t, yaml, gw)
	stop(t, q)
	assert.EqualValues(t, 3*12*600, gw.total("tenants"))
	for id, sum := range gw.sum() {
		lower, upper := sum.Bounds(fmt.Sprintf("%s-%01500d", id.group.Name, 7))
		assert.EqualValues(t, 3, lower)
		assert.EqualValues(t, 3, upper)
	}
}
