package topkprocessor

import (
	"context"
	"fmt"

	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/otlpexporter"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/uplink"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

// setGateway keeps the states of all epochs as a board does: sets of final states are complete once as many came as they say;
// what did not become final leaves then, and nothing more is taken.
type setGateway struct {
	fakeGateway

	sets     map[setID]*stateSet
	goodbyes map[wire.Epoch]bool
	heard    map[wire.Epoch]bool
	wrong    []string
}

type setID struct {
	epoch  wire.Epoch
	rule   string
	minute window.Minute
}

type stateSet struct {
	states   map[rule.Group]*wire.State
	finals   int
	open     uint64 // total before the first final
	complete bool
}

// connectFrom a machine each gateway of a configuration to its own: what was killed sends nothing.
func connectFrom(m *machine, gws ...*setGateway) uplink.Connect {
	return func(exporter.Settings, *otlpexporter.Config) (exporter.Logs, error) {
		gw := gws[0]
		gws = gws[1:]
		return &setSender{setGateway: gw, machine: m}, nil
	}
}

type setSender struct {
	*setGateway
	machine *machine
}

var _ consumer.Logs = (*setSender)(nil)

func (s *setSender) ConsumeLogs(ctx context.Context, ld plog.Logs) error {
	if s.machine.dead.Load() {
		return errDown
	}
	if s.answer == nil {
		s.answer = s.take
	}
	return s.fakeGateway.ConsumeLogs(ctx, ld)
}

// take a request. Called with mu held.
func (g *setGateway) take(r received) error {
	if g.sets == nil {
		g.sets, g.goodbyes, g.heard = map[setID]*stateSet{}, map[wire.Epoch]bool{}, map[wire.Epoch]bool{}
	}
	for _, s := range r.states {
		g.takeState(s)
	}
	g.heard[r.report.Epoch] = true
	if r.report.Goodbye {
		g.goodbyes[r.report.Epoch] = true
	}
	return nil
}

func (g *setGateway) takeState(s *wire.State) {
	id := setID{s.Epoch, s.Rule.Name, s.Minute}
	at := g.sets[id]
	if at == nil {
		at = &stateSet{states: map[rule.Group]*wire.State{}}
		g.sets[id] = at
	}
	old := at.states[s.Group]
	if at.complete || old != nil && (old.Final || !s.Final && s.Sequence <= old.Sequence) {
		return
	}
	if s.Group.Scope == rule.ScopeGlobal && old != nil && old.Summary.Total() > s.Summary.Total() {
		g.wrong = append(g.wrong, fmt.Sprintf("%v: a total went from %d to %d", id, old.Summary.Total(), s.Summary.Total()))
	}
	if s.Final && at.finals == 0 {
		at.open = at.total()
	}
	if g.goodbyes[s.Epoch] {
		g.wrong = append(g.wrong, fmt.Sprintf("%v: counted after goodbye", id))
	}
	at.states[s.Group] = s
	if !s.Final {
		return
	}
	if at.finals++; at.finals < s.Groups {
		return
	}
	at.complete = true
	for group, state := range at.states {
		if !state.Final {
			delete(at.states, group)
		}
	}
	if len(at.states) != s.Groups {
		g.wrong = append(g.wrong, fmt.Sprintf("%v: %d finals of a set of %d", id, len(at.states), s.Groups))
	}
	if at.total() < at.open {
		g.wrong = append(g.wrong, fmt.Sprintf("%v: a total went from %d to %d", id, at.open, at.total()))
	}
}

func (s *stateSet) total() (n uint64) {
	for _, state := range s.states {
		n += state.Summary.Total()
	}
	return n
}

// sum of all epochs by rule, minute and group.
func (g *setGateway) sum() map[stateID]*topk.Summary {
	g.mu.Lock()
	defer g.mu.Unlock()
	sums := map[stateID]*topk.Summary{}
	for id, set := range g.sets {
		for group, s := range set.states {
			at := stateID{id.rule, id.minute, group}
			if sums[at] == nil {
				sums[at], _ = topk.New(4096, s.Rule.Shape)
			}
			if err := sums[at].Merge(s.Summary); err != nil {
				panic(err)
			}
		}
	}
	return sums
}

// total of a rule.
func (g *setGateway) total(name string) (n uint64) {
	for id, sum := range g.sum() {
		if id.rule == name {
			n += sum.Total()
		}
	}
	return n
}
