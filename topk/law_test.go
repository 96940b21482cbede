package topk

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/otel-topk/collector/topk/internal/stream"
)

var lawSeeds = flag.Int("law.seeds", 2500, "how many random histories TestLaw tries; a tenth of them with -short or -race")

// TestLaw lets everything that can happen to a few summaries happen in random order, and checks the law, every list and
// every certificate against exact counts after each step. A failure names the seed and the steps that led to it:
// go test -run 'TestLaw/seed=17$' repeats it.
func TestLaw(t *testing.T) {
	seeds := *lawSeeds
	if testing.Short() || raceEnabled {
		seeds /= 10
	}
	checks, v := 0, verdicts{}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { history(t, seed, &checks, &v) })
		if t.Failed() {
			break
		}
	}
	t.Logf("%d checks; certified %d lists and not %d, %d ranks and not %d", checks, v.certified, v.not, v.rank, v.notRank)
}

// history is a random sequence of steps on a pool of summaries that share a shape.
func history(t *testing.T, seed uint64, checks *int, v *verdicts) {
	r := rand.New(rand.NewPCG(seed, 1))
	shape := Shape{Width: 1 << r.IntN(10), Depth: 5, Seed: seed}
	if seed%4 == 0 {
		shape.Depth = 1 + r.IntN(MaxDepth)
	}
	capacity := 1 + r.IntN(1<<(2+r.IntN(7)))
	h := &steps{r: r, keys: 10 + r.IntN(2000), skew: 1 + 5*r.Float64()}
	h.most = []uint64{1, 1, 4, 3000, 1 << 33, 1 << 48, 1 << 60}[r.IntN(7)]
	var story []string
	for i := range 4 {
		s, err := New([]int{capacity, capacity, 4 * capacity, 4096}[i], shape)
		if err != nil {
			t.Fatal(err)
		}
		h.pool = append(h.pool, &world{t: t, checks: checks, story: &story, s: s, truth: map[string]uint64{}, counted: map[string]bool{}})
	}
	for range 8 + r.IntN(24) {
		w, o := h.pool[r.IntN(4)], h.pool[r.IntN(4)]
		story = append(story, h.step(w, o))
		w.law()
		w.list(r.IntN(w.s.Size() + 2))
	}
	for _, w := range h.pool {
		w.certificates(v)
	}
}

type steps struct {
	r    *rand.Rand
	pool []*world
	keys int
	skew float64
	most uint64 // weight of an event
}

func (h *steps) key() string {
	return stream.Key(uint32(float64(h.keys) * math.Pow(h.r.Float64(), h.skew)))
}

func (h *steps) weight() uint64 {
	if h.r.IntN(20) == 0 {
		return 0
	}
	return 1 + h.r.Uint64N(h.most)
}

// step does something to w, perhaps with o, and says what.
func (h *steps) step(w, o *world) string {
	w.t.Helper()
	switch h.r.IntN(17) {
	case 0, 1, 2:
		return h.add(w)
	case 3, 4, 5:
		return h.addBatch(w)
	case 6, 7:
		return w.merge(o)
	case 8:
		return w.mergeBound(o, h.r)
	case 9:
		return w.prune(h.r.IntN(w.s.Size() + 2))
	case 10, 11:
		return w.expect(o, h.r)
	case 12:
		return w.unpin()
	case 13:
		return w.tighten()
	case 14:
		return w.flatten()
	case 15:
		return w.marshal()
	default:
		return w.cloneOrReset(h.r)
	}
}

func (h *steps) add(w *world) string {
	n := h.r.IntN(300)
	for range n {
		key, weight := h.key(), h.weight()
		err := w.s.Add(key, weight)
		if weight > MaxTotal-w.upper() {
			w.require(errors.Is(err, ErrTotal), "took %d beyond the limit: %v", weight, err)
			continue
		}
		w.require(err == nil, "Add: %v", err)
		w.count(key, weight)
	}
	return fmt.Sprintf("Add x %d", n)
}

func (h *steps) addBatch(w *world) string {
	n := h.r.IntN(2000)
	if h.r.IntN(4) == 0 {
		n = h.r.IntN(2 * fewKeys)
	}
	keys := make([]string, n)
	weights := make([]uint64, len(keys))
	sum, fits := uint64(0), true
	for i := range keys {
		keys[i], weights[i] = h.key(), h.weight()
		fits = fits && weights[i] <= MaxTotal-w.upper()-sum
		sum += weights[i]
	}
	unit := h.most == 1 && h.r.IntN(2) == 0
	var err error
	if unit {
		for i := range weights {
			weights[i] = 1
		}
		err = w.s.AddBatch(keys, nil)
	} else {
		err = w.s.AddBatch(keys, weights)
	}
	if fits {
		w.require(err == nil, "AddBatch: %v", err)
		for i, key := range keys {
			w.count(key, weights[i])
		}
	} else {
		w.require(errors.Is(err, ErrTotal), "took a batch beyond the limit: %v", err)
	}
	return fmt.Sprintf("AddBatch of %d", len(keys))
}
