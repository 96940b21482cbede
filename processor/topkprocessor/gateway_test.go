package topkprocessor

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/otlpexporter"
	"go.opentelemetry.io/collector/pdata/plog"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/uplink"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

var errDown = status.Error(codes.Unavailable, "down")

// fakeGateway takes states in this process. It keeps the newest of each, as a board would.
type fakeGateway struct {
	component.StartFunc
	component.ShutdownFunc

	down   atomic.Bool
	answer func(r received) error          // nil: take all
	hang   func(ctx context.Context) error // before the answer; nil: not at all

	newestOnly bool // keep no requests

	mu       sync.Mutex
	requests []received
	states   map[stateID]*wire.State
}

// received is one request.
type received struct {
	at     time.Time
	report *wire.Report
	states []*wire.State
	bytes  int
}

type stateID struct {
	rule   string
	minute window.Minute
	group  rule.Group
}

func (g *fakeGateway) connect(exporter.Settings, *otlpexporter.Config) (exporter.Logs, error) {
	return g, nil
}

// connectEach gives each gateway of the configuration its own.
func connectEach(gws ...*fakeGateway) uplink.Connect {
	return func(exporter.Settings, *otlpexporter.Config) (exporter.Logs, error) {
		gw := gws[0]
		gws = gws[1:]
		return gw, nil
	}
}

func (*fakeGateway) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (g *fakeGateway) ConsumeLogs(ctx context.Context, ld plog.Logs) error {
	r := received{at: time.Now(), bytes: (&plog.ProtoMarshaler{}).LogsSize(ld)}
	for m, err := range wire.Messages(ld) {
		if err != nil {
			return err
		}
		switch m := m.(type) {
		case *wire.Report:
			r.report = m
		case *wire.State:
			r.states = append(r.states, m)
		}
	}
	if g.down.Load() {
		return errDown
	}
	if g.hang != nil {
		if err := g.hang(ctx); err != nil {
			return err
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.answer != nil {
		if err := g.answer(r); err != nil {
			return err
		}
	}
	if !g.newestOnly {
		g.requests = append(g.requests, r)
	}
	if g.states == nil {
		g.states = map[stateID]*wire.State{}
	}
	for _, s := range r.states {
		id := stateID{s.Rule.Name, s.Minute, s.Group}
		if old := g.states[id]; old == nil || !old.Final && (s.Final || s.Sequence > old.Sequence) {
			g.states[id] = s
		}
	}
	return nil
}

// merged is all that came of a rule, over all minutes and groups; nil: nothing.
func (g *fakeGateway) merged(name string) *topk.Summary {
	g.mu.Lock()
	defer g.mu.Unlock()
	var sum *topk.Summary
	for id, s := range g.states {
		if id.rule != name {
			continue
		}
		if sum == nil {
			sum, _ = topk.New(4096, s.Rule.Shape)
		}
		if err := sum.Merge(s.Summary); err != nil {
			panic(err)
		}
	}
	return sum
}

func (g *fakeGateway) received() []received {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]received(nil), g.requests...)
}

// forget all, as a gateway that was killed does.
func (g *fakeGateway) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.states)
}

// finals that came.
func (g *fakeGateway) finals() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, s := range g.states {
		if s.Final {
			n++
		}
	}
	return n
}
