package topkprocessor

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
