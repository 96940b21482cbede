package board

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/topk"
)

// TestScenarios reads what happens and what comes out from testdata/scenarios. `go test -rewrite` writes what comes out.
//
//	board [event] [shelf] [windows=(5m,1h)] [retain=2h] [keep-minutes=2h] [keep-hours=24h] [max-rules=] [max-groups=] [max-epochs=]
//	    [max-live=] [max-parts=] [max-lists=]
//	shard NAME epoch=N [rule=NAME] [grouped] [k=] [residents=] [width=] [seed=] [max-groups=] [label=NAME]
//	count NAME HH:MM:SS [group=NAME|missing]    with lines: KEY WEIGHT
//	empty NAME HH:MM:SS                         a state without records
//	send NAME HH:MM [final] [as=MESSAGE] [sequence=N] [groups=N] [lost]
//	deliver MESSAGE [times=N]
//	report NAME [records=] [late=] [future=] [dropped=] [goodbye]
//	now HH:MM:SS [day=N]                        the wall clock
//	publish [window=5m] [coverage] [brief] [hours]    hours: rollups, not lists
//	kill                                        and go on from the shelf
//	damage TEXT                                 in each stored value whose key holds it
//	stats [bytes]
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		s := &scenario{T: t, now: noon, shards: map[string]*shard{}, messages: map[string][]message{}, b: New(wallConfig())}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.T, s.d = t, d
			return s.run()
		})
	})
}

type scenario struct {
	*testing.T
	d        *datadriven.TestData
	b        *Board
	now      int64
	shards   map[string]*shard
	messages map[string][]message
}

func (s *scenario) run() string {
	switch s.d.Cmd {
	case "board":
		s.board()
	case "shard":
		s.shard()
	case "count":
		s.count()
	case "empty":
		s.empty()
	case "send":
		return s.send()
	case "deliver":
		return s.deliver(s.messages[s.d.CmdArgs[0].Key], s.number("times", 1))
	case "report":
		return s.report()
	case "now":
		s.now = s.time(s.d.CmdArgs[0].Key) + int64(s.number("day", 0))*int64(24*time.Hour)
	case "publish":
		if s.d.HasArg("hours") {
			return s.hours()
		}
		return s.publish()
	case "kill":
		s.b = restored(s, s.b.cfg, s.now)
	case "damage":
		s.damage(s.d.CmdArgs[0].Key)
	case "stats":
		return s.stats()
	default:
		s.Fatalf("%s: unknown command %q", s.d.Pos, s.d.Cmd)
	}
	return ""
}

func (s *scenario) number(name string, otherwise int) int {
	s.d.MaybeScanArgs(s.T, name, &otherwise)
	return otherwise
}

func (s *scenario) text(name, otherwise string) string {
	s.d.MaybeScanArgs(s.T, name, &otherwise)
	return otherwise
}

// time of the day of noon, with or without seconds.
func (s *scenario) time(text string) int64 {
	layout := "15:04:05"
	if strings.Count(text, ":") == 1 {
		layout = "15:04"
	}
	at, err := time.Parse(layout, text)
	require.NoError(s, err, s.d.Pos)
	return noon + int64(at.Sub(time.Date(0, 1, 1, 12, 0, 0, 0, time.UTC)))
}

func (s *scenario) board() {
	cfg := wallConfig()
	cfg.Event = s.d.HasArg("event")
	if arg, ok := s.d.Arg("windows"); ok {
		cfg.Windows = nil
		for _, name := range arg.Vals {
			w, err := window.Parse(name)
			require.NoError(s, err)
			cfg.Windows = append(cfg.Windows, w)
		}
	}
	if s.d.HasArg("shelf") {
		cfg.Shelf = newShelf()
	}
	durations := map[string]*time.Duration{"retain": &cfg.Retain, "keep-minutes": &cfg.KeepMinutes, "keep-hours": &cfg.KeepHours}
	for name, d := range durations {
		if text := s.text(name, ""); text != "" {
			var err error
			*d, err = time.ParseDuration(text)
			require.NoError(s, err)
		}
	}
	cfg.MaxRules = s.number("max-rules", cfg.MaxRules)
	cfg.MaxGroups = s.number("max-groups", cfg.MaxGroups)
	cfg.MaxEpochs = s.number("max-epochs", cfg.MaxEpochs)
	cfg.MaxLiveBytes = int64(s.number("max-live", 0))
	cfg.MaxPartBytes = int64(s.number("max-parts", 0))
	cfg.MaxListBytes = int64(s.number("max-lists", 0))
	s.b = New(cfg)
}

func (s *scenario) damage(text string) {
	values := s.b.cfg.Shelf.(*shelf).values
	found := false
	for key, value := range values {
		if strings.Contains(key, text) {
			found = true
			values[key] = value[:len(value)/2]
		}
	}
	require.True(s, found, "%s: no such value", s.d.Pos)
}

func (s *scenario) shard() {
	name := s.d.CmdArgs[0].Key
	d := ungrouped(s, s.text("rule", "tenants"))
	if s.d.HasArg("grouped") {
		d = grouped(s, d.Name)
	}
	d.K = s.number("k", d.K)
	d.Residents = s.number("residents", d.Residents)
	d.Shape.Width = s.number("width", d.Shape.Width)
	d.Shape.Seed = uint64(s.number("seed", int(d.Shape.Seed)))
	sh := newShard(s, byte(s.number("epoch", 0)), s.text("label", name), d)
	sh.maxGroups = s.number("max-groups", sh.maxGroups)
	s.shards[name] = sh
}

// of is the shard that a command names first.
func (s *scenario) of() *shard {
	sh := s.shards[s.d.CmdArgs[0].Key]
	require.NotNil(s, sh, "%s: no such shard", s.d.Pos)
	sh.t = s.T
	return sh
}

func (s *scenario) count() {
	sh, at := s.of(), s.time(s.d.CmdArgs[1].Key)
	g := global
	if sh.rule.Grouped() {
		g = rule.Group{Scope: rule.ScopeGroup, Name: s.text("group", "")}
		if g.Name == "missing" {
			g = rule.Group{Scope: rule.ScopeMissing}
		}
	}
	for line := range strings.Lines(s.d.Input) {
		var key string
		var weight uint64
		_, err := fmt.Sscan(line, &key, &weight)
		require.NoError(s, err, s.d.Pos)
		sh.add(at, g, key, weight)
	}
}

func (s *scenario) empty() {
	sh, m := s.of(), window.MinuteOf(s.time(s.d.CmdArgs[1].Key))
	sh.add(m.Start(), global, "", 0)
	sum, err := topk.New(sh.rule.Residents, sh.rule.Shape)
	require.NoError(s, err)
	sh.minutes[m][global].Summary, sh.minutes[m][global].Newest = sum, 0
}

func (s *scenario) send() string {
	sent := s.of().send(window.MinuteOf(s.time(s.d.CmdArgs[1].Key)), s.d.HasArg("final"))
	for i := range sent {
		sent[i].Sequence = uint64(s.number("sequence", int(sent[i].Sequence)))
		sent[i].Groups = s.number("groups", sent[i].Groups)
	}
	if as := s.text("as", ""); as != "" {
		s.messages[as] = sent
		return ""
	}
	if s.d.HasArg("lost") {
		return ""
	}
	return s.deliver(sent, 1)
}

func (s *scenario) deliver(sent []message, times int) string {
	var out strings.Builder
	for range times {
		for _, m := range sent {
			if err := s.b.Accept(m.State, s.now); err != nil {
				fmt.Fprintln(&out, err)
			}
		}
	}
	return out.String()
}

func (s *scenario) report() string {
	sh := s.of()
	r := &sh.report.Rules[0]
	r.Records = uint64(s.number("records", int(r.Records)))
	r.Late = uint64(s.number("late", int(r.Late)))
	r.Future = uint64(s.number("future", int(r.Future)))
	r.Dropped = uint64(s.number("dropped", int(r.Dropped)))
	sh.report.Goodbye = s.d.HasArg("goodbye")
	if err := s.b.Report(&sh.report, s.now); err != nil {
		return err.Error()
	}
	return ""
}
