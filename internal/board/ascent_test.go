package board

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

// node is a gateway that is a shard of another one, or of none.
type node struct {
	*Board
	up      *node
	pending []*wire.State // finals that the one above has not answered
}

// kill a gateway, and begin again with what is stored.
func (n *node) kill(w *tower) {
	cfg := n.cfg
	cfg.Pause = nil
	n.Board = restored(w, cfg, w.now)
	n.pending = n.Unsettled()
}

// tower is shards, gateways over them, gateways over those, and one over all.
type tower struct {
	testing.TB
	r      *rand.Rand
	now    int64
	def    *rule.Definition
	nodes  []*node // the world is the last
	shards []*shard
	of     map[*shard][]*node // to which each sends
	unsent map[*shard][][]message
	sent   []func() // that may be repeated
	truth  map[window.Minute]truth
	lists  map[listKey]Published // as a reader of the world has them
	exact  bool
	ended  bool // nothing is killed any more
}

func newTower(t testing.TB, seed uint64, exact bool) *tower {
	w := &tower{
		TB: t, r: rand.New(rand.NewPCG(seed, 5)), now: noon, exact: exact, of: map[*shard][]*node{}, unsent: map[*shard][][]message{},
		truth: map[window.Minute]truth{}, lists: map[listKey]Published{},
	}
	w.def = ungrouped(t, "rule")
	if w.r.IntN(3) > 0 {
		w.def = grouped(t, "rule")
	}
	if !exact {
		w.def.Residents = 16 + w.r.IntN(10)
		w.def.Shape = topk.Shape{Width: 8 << w.r.IntN(5), Depth: 1 + w.r.IntN(5), Seed: seed}
	}
	world := w.gateway(nil, "")
	continent := w.gateway(world, "")
	replicas := w.r.IntN(2) == 0
	regions := [][]*node{{w.gateway(continent, "")}}
	if replicas {
		regions = append(regions, []*node{w.gateway(continent, "west"), w.gateway(continent, "west")})
	} else {
		regions = append(regions, []*node{w.gateway(world, "")})
	}
	slices.Reverse(w.nodes)
	for i := range 4 {
		s := newShard(t, byte(100+i), fmt.Sprint("shard-", i), w.def)
		if !exact && w.r.IntN(2) == 0 {
			s.maxGroups = 1 + w.r.IntN(3)
		}
		w.shards = append(w.shards, s)
		w.of[s] = regions[i%2]
		w.unsent[s] = make([][]message, len(regions[i%2]))
	}
	return w
}

func (w *tower) gateway(up *node, replicas string) *node {
	cfg := wallConfig()
	cfg.PointQueries = "all"
	cfg.Windows = []time.Duration{5 * time.Minute, 24 * time.Hour}
	cfg.Shelf = newShelf()
	cfg.KeepHours = 24 * time.Hour
	if up != nil {
		name := byte(len(w.nodes) + 1)
		cfg.Ascent = &Ascent{Sender: wire.Epoch{0xaa, name}, Shard: fmt.Sprint("gateway-", name), ReplicaSet: replicas}
	}
	n := &node{up: up}
	if up != nil {
		cfg.Ascent.Final = func(s *wire.State) { n.pending = append(n.pending, s) }
	}
	n.Board = New(cfg)
	w.nodes = append(w.nodes, n)
	return n
}

func (w *tower) world() *node { return w.nodes[len(w.nodes)-1] }

// take hands a state to a gateway, now and perhaps once more later.
func (w *tower) take(to *node, s *wire.State) {
	give := func() {
		if err := to.Accept(s, w.now); err != nil && !errors.Is(err, ErrTooLate) {
			w.Fatal(err)
		}
	}
	give()
	w.sent = append(w.sent, give)
}

// ascend sends what a gateway has: all finals before anything that is open, or what moved from one fold to the next would count twice.
func (w *tower) ascend(n *node, losses bool) {
	for len(n.pending) > 0 {
		s := n.pending[0]
		if losses && w.r.IntN(4) == 0 { // it came, or it did not, and was not answered
			if w.r.IntN(2) == 0 {
				w.take(n.up, s)
			}
			return
		}
		w.take(n.up, s)
		n.Settle(s)
		n.pending = n.pending[1:]
	}
	for _, s := range n.Open(w.now) {
		if losses && w.r.IntN(4) == 0 {
			continue
		}
		copied := *s
		copied.Encoded = slices.Clone(s.Encoded)
		w.take(n.up, &copied)
	}
	require.NoError(w, n.up.Report(&wire.Report{
		Epoch: n.cfg.Ascent.Sender, Shard: n.cfg.Ascent.Shard, Through: n.Through(), Rules: n.RuleReports(0),
	}, w.now))
}

func (w *tower) publish(n *node) {
	pauses, dies := 0, w.r.IntN(40)
	if w.ended {
		dies = 0
	}
	var left map[string][]byte // when it was killed
	n.cfg.Pause = func() bool {
		if pauses++; pauses == dies {
			left = maps.Clone(n.cfg.Shelf.(*shelf).values)
		}
		return false
	}
	p := n.Publish(w.now)
	n.cfg.Pause = nil
	if left != nil {
		n.cfg.Shelf.(*shelf).values = left
		n.kill(w)
		return
	}
	if n != w.world() {
		return
	}
	for _, e := range p.Ended {
		delete(w.lists, listKey{e.Window, e.Group})
	}
	for _, c := range p.Changed {
		w.lists[listKey{c.Snapshot.Window, c.Snapshot.Group}] = c
	}
	w.check(false)
}

// counted is the truth of a span.
func (w *tower) counted(start window.Minute) truth {
	sum := truth{}
	for m, of := range w.truth {
		for g, keys := range of {
			for k, n := range keys {
				if m >= start {
					if sum.add(g, k, n); g != global {
						sum.add(global, k, n)
					}
				}
			}
		}
	}
	return sum
}

// check that the world counts nothing twice, and, once all has come, that it counts all.
func (w *tower) check(all bool) {
	w.Helper()
	for key, p := range w.lists {
		f := w.counted(window.MinuteOf(p.Snapshot.WindowStart.UnixNano()))[key.group]
		if key.group.Scope == rule.ScopeOverflow {
			continue // the truth has no group for it
		}
		require.LessOrEqual(w, p.Snapshot.Total, weight(f), "%v", key)
		for _, it := range p.Snapshot.List.Items {
			require.LessOrEqual(w, it.Lower, f[it.Key], "%v %q", key, it.Key)
		}
		if !all {
			continue
		}
		if key.group == global || w.exact {
			require.Equal(w, weight(f), p.Snapshot.Total, "%v", key)
		}
		require.GreaterOrEqual(w, p.Snapshot.TotalUpper, weight(f))
		for k, n := range f {
			lower, upper := p.Summary.Summary.Bounds(k)
			require.True(w, lower <= n && n <= upper, "%v %q: %d to %d, true %d", key, k, lower, upper, n)
			if w.exact {
				require.Equal(w, n, lower)
			}
		}
	}
}

func (w *tower) count(s *shard) {
	for range w.r.IntN(40) {
		at := w.now - w.r.Int64N(int64(2*time.Minute))
		g := global
		if w.def.Grouped() {
			g = rule.Group{Scope: rule.ScopeGroup, Name: fmt.Sprint("g", w.r.IntN(5))}
		}
		key, n := fmt.Sprint("key-", int(50*w.r.Float64()*w.r.Float64())), 1+w.r.Uint64N(3)
		if s.minutes[window.MinuteOf(at)] == nil && window.MinuteOf(w.now) > window.MinuteOf(at)+2 {
			continue
		}
		s.add(at, g, key, n)
		m := window.MinuteOf(at)
		if w.truth[m] == nil {
			w.truth[m] = truth{}
		}
		w.truth[m].add(g, key, n)
	}
}

// emit the open states of a shard, and note finals of what has closed for each of its gateways.
func (w *tower) emit(s *shard, end bool) {
	for _, m := range slices.Sorted(maps.Keys(s.minutes)) {
		if end || window.MinuteOf(w.now) > m+2 {
			for i := range w.of[s] {
				w.unsent[s][i] = append(w.unsent[s][i], s.send(m, true)...)
			}
			delete(s.minutes, m)
			continue
		}
		for _, to := range w.of[s] {
			if w.r.IntN(4) > 0 {
				for _, st := range s.send(m, false) {
					w.take(to, st.State)
				}
			}
		}
	}
}

// settle hands finals over, to one gateway of a shard.
func (w *tower) settle(s *shard, i int) {
	for _, m := range w.unsent[s][i] {
		w.take(w.of[s][i], m.State)
	}
	w.unsent[s][i] = nil
}

func (w *tower) step() {
	s := w.shards[w.r.IntN(len(w.shards))]
	i := w.r.IntN(len(w.nodes))
	n := w.nodes[i]
	switch w.r.IntN(14) {
	case 0, 1, 2:
		w.count(s)
	case 3, 4:
		w.emit(s, false)
	case 5, 6:
		w.settle(s, w.r.IntN(len(w.of[s])))
	case 7, 8:
		if n.up != nil {
			w.ascend(n, true)
		}
	case 9, 10:
		w.publish(n)
	case 11: // killed
		n.kill(w)
	case 12:
		for range 3 {
			if len(w.sent) > 0 {
				w.sent[w.r.IntN(len(w.sent))]()
			}
		}
	case 13:
		w.now += w.r.Int64N(int64(70 * time.Second))
	}
}

// end brings everything up.
func (w *tower) end() {
	w.ended = true
	for range 6 {
		for _, s := range w.shards {
			w.emit(s, true)
			for i := range w.of[s] {
				w.settle(s, i)
			}
		}
		for _, n := range w.nodes {
			w.publish(n)
			if n.up != nil {
				w.ascend(n, false)
			}
		}
		w.now += int64(time.Minute)
	}
	w.publish(w.world())
	w.check(true)
}

func TestTheWorldCountsWhatShardsOfItsGatewaysCountOnce(t *testing.T) {
	for _, exact := range []bool{true, false} {
		for seed := range worlds() {
			t.Run(fmt.Sprint(exact, seed), func(t *testing.T) {
				t.Parallel()
				w := newTower(t, seed, exact)
				for range 150 {
					w.step()
				}
				w.end()
				for _, n := range w.nodes {
					for key := range n.cfg.Shelf.(*shelf).values {
						assert.NotContains(t, key, risePrefix, "all finals are settled")
					}
				}
			})
		}
	}
}
