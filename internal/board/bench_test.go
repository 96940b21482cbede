package board

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"time"
	"unique"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

// zipfState is a shard's summary of one minute: events of Zipf 1.01 over a million keys.
func zipfState(t testing.TB, d *rule.Definition, seed uint64, events int) []byte {
	s, err := topk.New(d.Residents, d.Shape)
	require.NoError(t, err)
	zipf := rand.NewZipf(rand.New(rand.NewPCG(seed, 1)), 1.01, 1, 1e6)
	for range events {
		require.NoError(t, s.Add(fmt.Sprintf("tenant-%08x", zipf.Uint64()*2654435761), 1))
	}
	encoded, err := s.AppendBinary(nil)
	require.NoError(t, err)
	return encoded
}

// BenchmarkPublish is what a gateway does in a publish interval of 5 s: each shard's open states come twice, lists of three
// windows are published, and every twelfth time a minute closes and is folded. Parts of a whole day are there from the start.
func BenchmarkPublish(b *testing.B) {
	for _, bb := range []struct {
		shards, groups, events int // events of a minute, shard and group
	}{
		{100, 1, 10_000},
		{1000, 1, 10_000},
		{4, 500, 100},
		{4, 500, 3000},
		{100, 500, 20},
	} {
		b.Run(fmt.Sprintf("shards=%d/groups=%d/events=%d", bb.shards, bb.groups, bb.events), func(b *testing.B) {
			d := ungrouped(b, "rule")
			if bb.groups > 1 {
				d = grouped(b, "rule")
			}
			var encoded [][]byte
			for i := range 64 {
				encoded = append(encoded, zipfState(b, d, uint64(i), bb.events))
			}
			g := &gateway{b: New(wallConfig()), def: d, encoded: encoded, now: noon, shards: bb.shards, groups: bb.groups}
			g.send(b, false)
			g.fillDay(b, encoded)
			for range 4 {
				g.period(b, time.Minute)
			}
			b.ReportMetric(float64(len(encoded[0])), "B/state")
			b.ResetTimer()
			g.publishing = 0
			start := cpuTime(b)
			for range b.N {
				g.period(b, publishInterval)
			}
			b.ReportMetric(100*(cpuTime(b)-start).Seconds()/float64(b.N)/publishInterval.Seconds(), "%core")
			b.ReportMetric(float64(g.publishing.Milliseconds())/float64(b.N), "ms/publish")
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "MiB")
			runtime.KeepAlive(g)
		})
	}
}

const (
	publishInterval = 5 * time.Second
	lateness        = 2 * time.Minute
)

// cpuTime of this process, the collection of garbage included.
func cpuTime(t testing.TB) time.Duration {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// gateway feeds a board with the same few summaries over and over.
type gateway struct {
	b              *Board
	def            *rule.Definition
	encoded        [][]byte
	now            int64
	shards, groups int
	sequence       uint64
	publishing     time.Duration
}

func (g *gateway) send(t testing.TB, final bool) {
	g.sequence++
	m := window.MinuteOf(g.now)
	if final {
		m -= 1 + window.Minute(lateness/window.Bucket)
	}
	for shard := range g.shards {
		for n := range g.groups {
			s := &wire.State{
				Epoch: wire.Epoch{1, byte(shard), byte(shard >> 8)}, Shard: "s", Sequence: g.sequence, Final: final, Rule: g.def, Minute: m,
				Groups: g.groups, Newest: m.Start(), Encoded: g.encoded[(shard+n+int(m)+int(g.sequence))%len(g.encoded)],
			}
			if g.groups > 1 {
				s.Group = rule.Group{Scope: rule.ScopeGroup, Name: fmt.Sprint("region-", n)}
			}
			require.NoError(t, g.b.Accept(s, g.now))
		}
	}
}

func (g *gateway) period(t testing.TB, d time.Duration) {
	before := window.MinuteOf(g.now)
	g.now += int64(d)
	if window.MinuteOf(g.now) != before {
		g.send(t, true)
	}
	g.send(t, false)
	g.send(t, false)
	start := cpuTime(t)
	g.b.Publish(g.now)
	g.publishing += cpuTime(t) - start
}

// fillDay gives each group the same parts of the day before: of a size, merged from as many minutes and shards.
func (g *gateway) fillDay(t testing.TB, states [][]byte) {
	_, c := g.only()
	kind := global
	if g.groups > 1 {
		kind.Scope = rule.ScopeGroup
	}
	newest := window.MinuteOf(g.now)
	for _, size := range window.Sizes {
		sum := c.empty(kind)
		for i := range int(size) * min(g.shards, 4) {
			g.b.merge(c, sum, g.b.decode(states[i%len(states)]))
		}
		at := window.PartOf(newest-24*60, size)
		g.b.write(c, at, unique.Make(kind), sum)
		value := g.b.load(c, at, unique.Make(kind))
		for m := newest - 24*60; m < newest; m += window.Minute(size) {
			if at := window.PartOf(m, size); g.b.keep.Kept(at, newest) {
				for group := range c.groups {
					g.b.put(c, at, unique.Make(group), value)
				}
			}
		}
	}
}

func (g *gateway) only() (*ruled, *counted) {
	for _, r := range g.b.rules {
		for _, c := range r.definitions {
			return r, c
		}
	}
	return nil, nil
}

// BenchmarkPresences is what a publication takes with 10,000 shards of 10 rules that send nothing new.
func BenchmarkPresences(b *testing.B) {
	board := New(wallConfig())
	now := noon
	for i := range 10_000 {
		epoch := wire.Epoch{1, byte(i), byte(i >> 8)}
		r := &wire.Report{Epoch: epoch, Shard: fmt.Sprint("shard-", i)}
		for j := range 10 {
			name := fmt.Sprint("rule-", j)
			r.Rules = append(r.Rules, wire.RuleReport{Rule: name, Records: 1})
			if i == 0 {
				s := newShard(b, 1, "shard", ungrouped(b, name))
				s.epoch = epoch
				s.add(now, global, "k", 1)
				accept(b, board, now, s.send(window.MinuteOf(now), true)...)
			}
		}
		require.NoError(b, board.Report(r, now))
	}
	board.Publish(now)
	b.ResetTimer()
	for range b.N {
		board.Publish(now)
	}
}
