package topkprocessor

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/topk"
)

func TestMillionDistinctKeysLeaveMemoryFlat(t *testing.T) { // K10
	gw := &fakeGateway{newestOnly: true}
	p := startLogs(t, mustParse(t, replay+"emit_interval: 30s\n"), gw, nil)
	at := time.Now()
	key := 0
	consume := func(n int) {
		names := make([]string, 0, 1000)
		for range n / 1000 {
			names = names[:0]
			for i := range 1000 {
				if i%100 == 0 {
					names = append(names, fmt.Sprint("heavy-", i/100))
					continue
				}
				key++
				names = append(names, fmt.Sprint("once-", key))
			}
			require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(at, names...)))
		}
	}
	consume(20_000)
	p.(*logs).counter.merger.collect()
	before := liveHeap()
	consume(1_000_000)
	p.(*logs).counter.merger.collect()
	after := liveHeap()
	assert.LessOrEqual(t, after, before+before/10)
	assert.LessOrEqual(t, int64(after), p.(*logs).counter.memoryBound())
	stop(t, p)

	var found []string
	for _, item := range gw.merged("tenants").Top(10).Items {
		found = append(found, item.Key)
	}
	for i := range 10 {
		assert.Contains(t, found, fmt.Sprint("heavy-", i))
	}
}

func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestSummaryStaysInItsBound(t *testing.T) {
	const summaries, residents, keyBytes = 20, 640, 256
	shape, err := topk.NewShape(0.001, 0.01, 0)
	require.NoError(t, err)
	var all [summaries]*topk.Summary
	before := liveHeap()
	for i := range all {
		all[i], err = topk.New(residents, shape)
		require.NoError(t, err)
		for key := range 5 * residents {
			require.NoError(t, all[i].Add(fmt.Sprintf("%*d", keyBytes, key), 1<<40))
		}
	}
	held := int64(liveHeap()-before) / summaries
	runtime.KeepAlive(&all)
	assert.LessOrEqual(t, held, summaryBound(residents, keyBytes, shape))
	assert.GreaterOrEqual(t, 2*held, summaryBound(residents, keyBytes, shape), "else the bound says nothing")
	encoded, err := all[0].AppendBinary(nil)
	require.NoError(t, err)
	assert.LessOrEqual(t, int64(len(encoded)), encodedBound(residents, keyBytes, shape))
}

func TestMemoryBoundFollowsTheConfiguration(t *testing.T) {
	bound := func(yaml string) int64 {
		p := newMachine(t, t.TempDir()).start(t, yaml, &setGateway{})
		defer stop(t, p)
		return p.counter.memoryBound()
	}
	one := bound(tenants)
	assert.Greater(t, bound(byRegion), one+50*(117<<10), "twelve lists, at least five minutes")
	assert.Greater(t, bound(tenants+"lateness: 2h\nretain: 3h\n"), one+100*(117<<10))
	assert.Equal(t, one+1<<20, bound(tenants+"pending: 269484032\n"))
	assert.Greater(t, bound(stored), one+storageBound)
}

func TestIdleStripesHoldNothing(t *testing.T) {
	p := startLogs(t, mustParse(t, tenants), &fakeGateway{}, nil)
	defer stop(t, p)
	for range 100 {
		require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "a")))
	}
	for _, b := range p.(*logs).counter.ledgers[0].open() {
		for i, cell := range b.global.cells {
			assert.Equal(t, i == 0, cell.summary != nil)
		}
	}
}
