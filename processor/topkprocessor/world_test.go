package topkprocessor

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire"
)

const worldRules = `
storage: file_storage
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
gateways:
  - endpoint: localhost:1
  - endpoint: localhost:2
`

// world is a shard over several lives, and what its clients know of it.
type world struct {
	t     *testing.T
	r     *rand.Rand
	yaml  string
	late  time.Duration // older records have no bucket any more
	event bool
	now   int64 // newest event so far, of an event clock

	folder  string
	machine *machine
	shard   *logs
	gws     []*setGateway
	epochs  []wire.Epoch

	answered, sent *truth
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		t: t, r: rand.New(rand.NewPCG(seed, 7)), yaml: worldRules, late: 3 * time.Minute, folder: t.TempDir(), gws: []*setGateway{{}, {}},
		answered: newTruth(), sent: newTruth(),
	}
	if w.event = w.r.IntN(2) == 0; w.event {
		w.yaml += "clock: event\n"
		w.now = time.Date(1995, 1, 1, 12, 0, 0, 0, time.UTC).UnixNano()
	}
	return w
}

func newTruth() *truth { return &truth{weights: map[stateID]map[string]uint64{}} }

// live for some steps, in which the process may be killed, and else end it so or well.
func (w *world) live() {
	w.machine = newMachine(w.t, w.folder)
	writes, last, after := 0, w.r.IntN(200), w.r.IntN(2) == 0
	w.machine.onWrite = func([]*storage.Operation) error {
		if writes++; writes == last && !after {
			w.machine.dead.Store(true)
		}
		return nil
	}
	w.machine.afterWrite = func() {
		if writes == last && after {
			w.machine.dead.Store(true)
		}
	}
	w.start()
	for range w.r.IntN(60) {
		if w.step(); w.machine.dead.Load() {
			break
		}
	}
	if w.machine.dead.Load() || w.r.IntN(3) > 0 {
		w.machine.kill(w.t, w.shard)
	} else {
		require.NoError(w.t, ignoreKilled(w.shard.Shutdown(w.t.Context())))
	}
}

func (w *world) start() {
	w.shard = w.machine.start(w.t, w.yaml, w.gws...)
	w.epochs = append(w.epochs, w.shard.counter.epoch)
}

func (w *world) step() {
	switch n := w.r.IntN(20); {
	case n < 12:
		w.request()
	case n < 15:
		time.Sleep(time.Duration(w.r.IntN(2000)) * time.Millisecond)
	case n < 17:
		time.Sleep(time.Duration(w.r.IntN(60)) * time.Second)
	case n < 18:
		w.shard.counter.vault.checkpoint()
	default:
		gw := w.gws[w.r.IntN(len(w.gws))]
		gw.down.Store(!gw.down.Load())
	}
}

// request of records of which all but a few are in time.
func (w *world) request() {
	ld := plog.NewLogs()
	records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for _, o := range []*truth{w.sent, w.answered} {
		o.mu.Lock()
		defer o.mu.Unlock()
	}
	this := newTruth()
	for range 1 + w.r.IntN(40) {
		at, counts := w.time()
		tenant, size := fmt.Sprint("t", w.r.IntN(1+w.r.IntN(200))), uint64(w.r.IntN(1000))
		lr := records.AppendEmpty()
		lr.SetTimestamp(pcommon.NewTimestampFromTime(at))
		lr.Attributes().PutStr("tenant", tenant)
		lr.Attributes().PutInt("size", int64(size))
		region := rule.Group{Scope: rule.ScopeMissing}
		if n := w.r.IntN(9); n < 8 {
			region = rule.Group{Scope: rule.ScopeGroup, Name: fmt.Sprint("r", n)}
			lr.Attributes().PutStr("region", region.Name)
		}
		if counts {
			this.add("tenants", at, rule.Group{}, tenant, 1)
			this.add("bytes by region", at, region, tenant, size)
		}
	}
	require.NoError(w.t, w.shard.ConsumeLogs(w.t.Context(), ld))
	w.sent.join(this)
	if !w.machine.dead.Load() {
		w.answered.join(this)
	}
}

// time of a record, and whether it is to count.
func (w *world) time() (at time.Time, counts bool) {
	if w.event {
		at = time.Unix(0, w.now).Add(time.Duration(w.r.IntN(80_000)-60_000) * time.Millisecond)
		w.now = max(w.now, at.UnixNano())
		return at, true
	}
	now := time.Now()
	switch w.r.IntN(20) {
	case 0:
		return now.Add(-w.late), false
	case 1:
		return now.Add(2 * time.Minute), false
	}
	return now.Add(time.Duration(w.r.IntN(150_000)-119_000) * time.Millisecond), true
}

func (o *truth) join(other *truth) {
	for id, keys := range other.weights {
		if o.weights[id] == nil {
			o.weights[id] = map[string]uint64{}
		}
		for key, weight := range keys {
			o.weights[id][key] += weight
		}
	}
}

// settle all with a process that ends well.
func (w *world) settle() {
	for _, gw := range w.gws {
		gw.down.Store(false)
	}
	w.machine = newMachine(w.t, w.folder)
	w.start()
	time.Sleep(time.Minute)
	stop(w.t, w.shard)
}

// check what each gateway has.
func (w *world) check() {
	for _, gw := range w.gws {
		assert.Empty(w.t, gw.wrong)
		for _, epoch := range w.epochs {
			assert.Equal(w.t, gw.heard[epoch], gw.goodbyes[epoch], "each life that was heard of has said goodbye")
		}
		for id, set := range gw.sets {
			assert.True(w.t, set.complete, "%v", id)
		}
		w.checkTotals(gw)
		w.checkKeys(gw)
	}
}

func (w *world) checkTotals(gw *setGateway) {
	type minute struct {
		rule   string
		minute int64
	}
	totals := func(of func(yield func(stateID, uint64))) map[minute]uint64 {
		sums := map[minute]uint64{}
		of(func(id stateID, n uint64) { sums[minute{id.rule, int64(id.minute)}] += n })
		return sums
	}
	of := func(o *truth) func(func(stateID, uint64)) {
		return func(yield func(stateID, uint64)) {
			for id, keys := range o.weights {
				for _, weight := range keys {
					yield(id, weight)
				}
			}
		}
	}
	got := totals(func(yield func(stateID, uint64)) {
		for id, sum := range gw.sum() {
			yield(id, sum.Total())
		}
	})
	answered, sent := totals(of(w.answered)), totals(of(w.sent))
	for m := range maps.Keys(sent) {
		assert.GreaterOrEqual(w.t, got[m], answered[m], "%v: lost", m)
	}
	for m, n := range got {
		assert.LessOrEqual(w.t, n, sent[m], "%v: counted twice", m)
	}
}

func (w *world) checkKeys(gw *setGateway) {
	overflow := rule.Group{Scope: rule.ScopeOverflow}
	for id, keys := range w.sent.weights {
		for key, sent := range keys {
			var lower, upper uint64
			for at, set := range gw.sets {
				if at.rule != id.rule || at.minute != id.minute {
					continue
				}
				own, other := set.states[id.group], set.states[overflow]
				switch {
				case own != nil:
					low, up := own.Summary.Bounds(key)
					lower, upper = lower+low, upper+up
				case other != nil:
					_, up := other.Summary.Bounds(key)
					upper += up
				}
			}
			assert.LessOrEqual(w.t, lower, sent, "%v %s: counted twice", id, key)
			assert.GreaterOrEqual(w.t, upper, w.answered.weights[id][key], "%v %s: lost", id, key)
		}
	}
}

// checkStorage holds nothing that is not needed any more.
func (w *world) checkStorage() {
	var finals []string
	for key := range storedValues(w.t, w.folder) {
		if _, ok := numberOf(finalKey, key); ok {
			finals = append(finals, key)
		}
	}
	assert.Empty(w.t, finals, "all were answered")
}
