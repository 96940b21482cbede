package topkprocessor

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/processor"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
)

const manyRules = `
emit_interval: 100ms
rules:
  - name: tenants
    key: ['log.attributes["tenant"]']
    k: 10
    accuracy: {residents: 64, epsilon: 0.01}
  - name: bytes by region
    key: ['log.attributes["tenant"]']
    weight: log.attributes["size"]
    group_by: log.attributes["region"]
    max_groups: 4
    k: 10
    accuracy: {residents: 64, epsilon: 0.01}
`

// truth is the exact weight by state and key.
type truth struct {
	mu      sync.Mutex
	weights map[stateID]map[string]uint64
}

func (o *truth) add(ruleName string, at time.Time, g rule.Group, key string, weight uint64) {
	id := stateID{ruleName, window.MinuteOf(at.UnixNano()), g}
	if o.weights[id] == nil {
		o.weights[id] = map[string]uint64{}
	}
	o.weights[id][key] += weight
}

func TestStatesHoldAgainstExactCountsUnderConcurrency(t *testing.T) {
	gw := &fakeGateway{}
	next, err := consumer.NewLogs(func(ctx context.Context, _ plog.Logs) error {
		if ctx.Value(errFull) != nil {
			return errFull
		}
		return nil
	})
	require.NoError(t, err)
	p := startLogs(t, mustParse(t, manyRules), gw, next)
	exact := &truth{weights: map[stateID]map[string]uint64{}}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() { consumeRandom(t, p, exact, rand.New(rand.NewPCG(uint64(g), 1))) })
	}
	wg.Wait()
	stop(t, p)

	for id, keys := range exact.weights {
		state, own := gw.states[id]
		if !own {
			id.group = rule.Group{Scope: rule.ScopeOverflow}
			state = gw.states[id]
		}
		require.NotNil(t, state, "%v", id)
		require.True(t, state.Final)
		var sum uint64
		for key, weight := range keys {
			lower, upper := state.Summary.Bounds(key)
			assert.LessOrEqual(t, weight, upper, "%v %v", id, key)
			if own {
				assert.GreaterOrEqual(t, weight, lower, "%v %v", id, key)
			}
			sum += weight
		}
		if own {
			assert.Equal(t, sum, state.Summary.Total(), "%v", id)
		}
	}
	for _, name := range []string{"tenants", "bytes by region"} {
		assert.Equal(t, exact.total(name), gw.merged(name).Total(), name)
	}
}

func (o *truth) total(name string) (sum uint64) {
	for id, keys := range o.weights {
		if id.rule == name {
			for _, w := range keys {
				sum += w
			}
		}
	}
	return sum
}

// consumeRandom batches of two minutes and six regions, a few of them refused.
func consumeRandom(t *testing.T, p processor.Logs, exact *truth, r *rand.Rand) {
	tenants := rand.NewZipf(r, 1.1, 1, 2000)
	for n := range 150 {
		ctx, refused := t.Context(), n%7 == 0
		if refused {
			ctx = context.WithValue(ctx, errFull, true)
		}
		ld := plog.NewLogs()
		records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
		exact.mu.Lock()
		now := time.Now()
		for range 1 + r.IntN(300) {
			at := now.Add(-time.Duration(r.IntN(60)) * time.Second)
			tenant, size := fmt.Sprint("t", tenants.Uint64()), uint64(r.IntN(1000))
			region := rule.Group{Scope: rule.ScopeGroup, Name: fmt.Sprint("r", r.IntN(6))}
			lr := records.AppendEmpty()
			lr.SetTimestamp(pcommon.NewTimestampFromTime(at))
			lr.Attributes().PutStr("tenant", tenant)
			lr.Attributes().PutInt("size", int64(size))
			lr.Attributes().PutStr("region", region.Name)
			if !refused {
				exact.add("tenants", at, rule.Group{}, tenant, 1)
				exact.add("bytes by region", at, region, tenant, size)
			}
		}
		exact.mu.Unlock()
		if err := p.ConsumeLogs(ctx, ld); refused {
			assert.Equal(t, errFull, err)
		} else {
			assert.NoError(t, err)
		}
	}
}

func TestHotKeyUnderConcurrency(t *testing.T) { // K11
	gw := &fakeGateway{}
	p := startLogs(t, mustParse(t, tenants), gw, nil)
	const goroutines, each, perBatch = 8, 100, 200
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range each {
				names := make([]string, perBatch)
				for n := range names {
					if names[n] = "hot"; n%10 == 0 {
						names[n] = fmt.Sprint("cold-", g, "-", i, "-", n)
					}
				}
				assert.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), names...)))
			}
		})
	}
	wg.Wait()
	stop(t, p)
	got := gw.merged("tenants")
	const all = goroutines * each * perBatch
	assert.EqualValues(t, all, got.Total())
	top := got.Top(2)
	assert.Equal(t, "hot", top.Items[0].Key)
	assert.EqualValues(t, all*9/10, top.Items[0].Lower, "exact, whichever stripes counted it")
	assert.EqualValues(t, all*9/10, top.Items[0].Estimate)
	assert.LessOrEqual(t, top.Items[1].Estimate, uint64(all/100))
}

func TestLeadingKeysAreExpectedInTheNextMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gw := &fakeGateway{}
		cfg := mustParse(t, tenants)
		cfg.Rules[0].K, cfg.Rules[0].Accuracy.Residents = 10, 64
		p := startLogs(t, cfg, gw, nil)
		noise := 0
		minute := func() window.Minute {
			now := time.Now()
			batch := make([]string, 0, 1100)
			for range 1000 {
				noise++
				batch = append(batch, fmt.Sprint("noise-", noise))
			}
			for range 100 {
				batch = append(batch, "last to come")
			}
			require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(now, batch...)))
			time.Sleep(time.Minute)
			return window.MinuteOf(now.UnixNano())
		}
		first, second := minute(), minute()
		stop(t, p)
		for m, exact := range map[window.Minute]bool{first: false, second: true} {
			top := gw.states[stateID{"tenants", m, rule.Group{}}].Summary.Top(1).Items[0]
			assert.Equal(t, "last to come", top.Key)
			assert.Equal(t, exact, top.Lower == top.Estimate, "lower %d of estimate %d", top.Lower, top.Estimate)
		}
	})
}
