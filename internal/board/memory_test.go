package board

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// blackHole is a Shelf that keeps nothing, so that what is measured is the board.
type blackHole struct{}

func (blackHole) Get(string) ([]byte, error) { return nil, nil }
func (blackHole) Set(string, []byte)         {}
func (blackHole) Delete(string)              {}
func (blackHole) SetAside(string, []byte)    {}

// intruder floods a board with one thing.
type intruder struct {
	testing.TB
	b    *Board
	now  int64
	wide map[string][]byte // encoded summaries
}

// state of n keys of a length, with weights that need wide cells; it is small as it comes and large when it is merged.
func (in *intruder) state(d *rule.Definition, n, length int) *wire.State {
	name := fmt.Sprint(d.Shape, d.Residents, n, length)
	if in.wide[name] == nil {
		s, err := topk.New(d.Residents, d.Shape)
		require.NoError(in, err)
		for i := range n {
			require.NoError(in, s.Add((fmt.Sprint(i) + strings.Repeat("x", length))[:length], math.MaxUint32+uint64(i)))
		}
		in.wide[name], err = s.AppendBinary(nil)
		require.NoError(in, err)
	}
	return &wire.State{Shard: "s", Sequence: 1, Rule: d, Minute: window.MinuteOf(in.now), Groups: 1, Encoded: in.wide[name]}
}

func number16(i int) wire.Epoch { return wire.Epoch{1, byte(i), byte(i >> 8), byte(i >> 16)} }

func group16(i, length int) rule.Group {
	return rule.Group{Scope: rule.ScopeGroup, Name: (fmt.Sprint(i) + strings.Repeat("g", length))[:length]}
}

// floods are of one thing each: until no more of it is taken.
var floods = map[string]struct {
	cfg    func(*Config)
	least  int64 // what the board takes then, or the flood was none
	most   func(Memory) int64
	strike func(in *intruder)
}{
	"live states": {
		cfg:   func(c *Config) { c.MaxLiveBytes, c.MaxListBytes = 8<<20, 24<<20 },
		least: 12 << 20,
		most:  func(m Memory) int64 { return m.States + 8<<20 }, // and a list
		strike: func(in *intruder) {
			d := ungrouped(in, "rule")
			for i := range 4000 {
				s := in.state(d, 2*d.Residents, 5)
				s.Epoch = number16(i % 8)
				s.Minute -= window.Minute(i / 8 % 110)
				_ = in.b.Accept(s, in.now)
			}
			for i := range 4000 { // one by one, each with a share for itself
				s := in.state(d, 2*d.Residents, 5)
				s.Epoch = number16(100 + i/100)
				s.Minute -= window.Minute(i % 100)
				_ = in.b.Accept(s, in.now)
				for n := range 8 {
					_ = in.b.Report(&wire.Report{Epoch: number16(n), Goodbye: true}, in.now)
				}
				_ = in.b.Report(&wire.Report{Epoch: number16(99 + i/100), Goodbye: true}, in.now)
			}
			in.b.Publish(in.now)
			require.Positive(in, in.b.Stats().Overloaded)
		},
	},
	"lists of groups, with long keys": {
		cfg:   func(c *Config) { c.MaxListBytes, c.PointQueries = 64<<20, PointQueriesAll },
		least: 24 << 20,
		most:  func(m Memory) int64 { return m.Lists + m.States },
		strike: func(in *intruder) {
			d := grouped(in, "rule")
			d.MaxKeyBytes, d.K, d.Residents = 4096, 10, 40
			for i := range 400 {
				in.now += int64(time.Second)
				s := in.state(d, 60, 4096)
				s.Epoch, s.Group, s.Final = number16(i%3), group16(i, 4096), true
				_ = in.b.Accept(s, in.now)
				if i%20 == 0 {
					in.b.Publish(in.now)
				}
			}
			require.NotEmpty(in, in.b.Stats().CrowdedGroups)
		},
	},
	"parts": {
		cfg:   func(c *Config) { c.MaxPartBytes = 1 << 20 },
		least: 4 << 20,
		most:  func(m Memory) int64 { return m.Parts + m.Lists },
		strike: func(in *intruder) {
			d := ungrouped(in, "rule")
			d.MaxKeyBytes = 1 << 10
			for i := range 110 {
				in.now += int64(time.Minute)
				s := in.state(d, 2*d.Residents, 200+10*(i%8))
				s.Epoch, s.Final = number16(i), true
				require.NoError(in, in.b.Accept(s, in.now))
				if i%10 == 9 {
					in.b.Publish(in.now)
				}
			}
			require.Positive(in, in.b.Stats().GivenUpParts)
			require.LessOrEqual(in, in.b.Stats().PartBytes, int64(1<<20))
		},
	},
	"an index of parts": {
		cfg: func(c *Config) {
			c.Shelf, c.KeepHours, c.MaxGroups = blackHole{}, 90*24*time.Hour, 100
			c.Windows = c.Windows[:1]
		},
		least: 1 << 19,
		most:  func(m Memory) int64 { return m.Parts },
		strike: func(in *intruder) {
			d := grouped(in, "rule")
			d.Shape, d.Residents, d.K = topk.Shape{Width: 1, Depth: 1}, 1, 1
			for i := range 100 {
				in.now += 2 * int64(time.Hour)
				for g := range 100 {
					s := in.state(d, 1, 1)
					s.Epoch, s.Group, s.Groups, s.Final = number16(0), group16(g+1000*i, 100), 100, true
					require.NoError(in, in.b.Accept(s, in.now))
				}
				in.b.Publish(in.now)
			}
			require.Positive(in, in.b.Stats().GivenUpParts)
		},
	},
	"shards of many rules": {
		cfg:   func(c *Config) { c.MaxEpochs, c.MaxRules = 500, 50 },
		least: 8 << 20,
		most:  func(m Memory) int64 { return m.Shards },
		strike: func(in *intruder) {
			for i := range 2000 {
				r := &wire.Report{Epoch: number16(i), Shard: strings.Repeat("s", wire.MaxShardBytes), Goodbye: i%2 == 0}
				for j := range 100 {
					name := (fmt.Sprint(i, "-", j, "-") + strings.Repeat("r", rule.MaxNameBytes))[:rule.MaxNameBytes]
					r.Rules = append(r.Rules, wire.RuleReport{Rule: name, Records: math.MaxUint64, Late: uint64(i)})
				}
				_ = in.b.Report(r, in.now)
				if r.Goodbye = true; i%3 > 0 {
					_ = in.b.Report(r, in.now)
				}
				if i%10 == 9 {
					in.b.Publish(in.now)
				}
			}
		},
	},
	"identities": {
		cfg:   func(c *Config) { c.MaxEpochs, c.Retain = 200, 20*time.Minute },
		least: 512 << 10,
		most: func(m Memory) int64 { // of the one rule
			return int64(30*400)*identityBytes + m.Shards + m.States
		},
		strike: func(in *intruder) {
			d := ungrouped(in, "rule")
			for i := range 40_000 {
				s := in.state(d, 1, 1)
				s.Epoch, s.Final = number16(i/15), true
				s.Minute -= window.Minute(i % 15)
				_ = in.b.Accept(s, in.now)
				_ = in.b.Report(&wire.Report{Epoch: s.Epoch, Goodbye: true}, in.now)
				if i%2000 == 0 {
					in.b.Publish(in.now)
				}
				in.now += int64(10 * time.Millisecond)
			}
			require.Positive(in, in.b.Stats().Overloaded)
		},
	},
	"rules": {
		cfg:   func(c *Config) { c.MaxRules, c.MaxListBytes = 20, 256<<20 },
		least: 1 << 20,
		most:  func(m Memory) int64 { return m.Rules },
		strike: func(in *intruder) {
			for i := range 100 {
				d := ungrouped(in, fmt.Sprint("rule-", i%30))
				d.Shape, d.Residents, d.K = topk.Shape{Width: 1, Depth: 1}, 1, 1
				d.Conditions = []string{strings.Repeat("c", 60<<10), fmt.Sprint(i)}
				s := in.state(d, 1, 1)
				s.Epoch, s.Final = number16(i), true
				_ = in.b.Accept(s, in.now)
				in.b.Publish(in.now)
				in.now += int64(time.Hour)
			}
			require.Positive(in, in.b.Stats().RefusedRules)
		},
	},
}

// TestMemoryStaysBelowItsBound measures the heap after floods, each of which reaches a limit.
func TestMemoryStaysBelowItsBound(t *testing.T) {
	for name, f := range floods {
		t.Run(name, func(t *testing.T) {
			cfg := wallConfig()
			cfg.MaxRules, cfg.MaxGroups, cfg.MaxEpochs = 4, 50, 100
			cfg.MaxLiveBytes, cfg.MaxPartBytes, cfg.MaxListBytes = 2<<20, 2<<20, 8<<20
			f.cfg(&cfg)
			before := heap()
			in := &intruder{TB: t, b: New(cfg), now: noon, wide: map[string][]byte{}}
			in.b.mostIndex = 1 << 20
			bound := MemoryOf(cfg)
			bound.Parts -= mostIndexBytes - in.b.mostIndex
			if cfg.Shelf != nil {
				in.b.drawer.limit = 1 << 20
				bound.Parts -= drawerBytes - in.b.drawer.limit
			}
			f.strike(in)
			clear(in.wide)
			got := heap() - before
			t.Logf("%d to %d KiB, %+v", got>>10, f.most(bound)>>10, in.b.Stats())
			require.Less(t, got, f.most(bound)+4<<20, "%+v", bound) // beside scratch
			require.Greater(t, got, f.least)
			checkAccounts(t, in.b)
		})
	}
}

// TestEachLimitLowersTheBound: what is given up by a limit is given back in memory. Only what is known of sets is capped by itself,
// so there fewer shards, or rules, count from the cap on.
func TestEachLimitLowersTheBound(t *testing.T) {
	whole := wallConfig()
	whole.MaxRules, whole.MaxGroups, whole.MaxEpochs, whole.Retain = 100, 1000, 10_000, 2*time.Hour
	whole.MaxLiveBytes, whole.MaxPartBytes, whole.MaxListBytes = DefaultMaxLiveBytes, DefaultMaxPartBytes, DefaultMaxListBytes
	for name, lower := range map[string]func(*Config){
		"rules":  func(c *Config) { c.MaxRules /= 2 },
		"shards": func(c *Config) { c.MaxEpochs /= 2 },
		"states": func(c *Config) { c.MaxLiveBytes /= 2 },
		"lists":  func(c *Config) { c.MaxListBytes /= 2 },
		"parts":  func(c *Config) { c.MaxPartBytes /= 2 },
		"retain": func(c *Config) { c.Retain /= 2 },
	} {
		less := whole
		lower(&less)
		require.Less(t, MemoryOf(less).Total(), MemoryOf(whole).Total(), name)
	}

	few := whole
	few.MaxEpochs = 300
	capped, below := MemoryOf(whole), MemoryOf(few)
	minutes := int64(few.maxIdentities()) / int64(few.maxSets()*few.MaxRules)
	require.Equal(t, int64(2+2*60+2*60), minutes, "retain, and what clocks may be ahead and set back")
	require.Equal(t, mostSets*identityBytes-int64(few.maxSets()*few.MaxRules)*minutes*identityBytes, capped.Identities-below.Identities)
}
