package trendreceiver

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/otlpexporter"
	"go.opentelemetry.io/collector/pdata/plog"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otel-topk/collector/internal/uplink"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/receiver/trendreceiver/internal/metadata"
)

// tier is a receiver without a network: shards below hand it requests, and what it sends up is handed to the one above.
type tier struct {
	testing.TB
	*trend
	observed observed
	host     component.Host
	above    *above
}

// newTier is one with a storage on a disk, if there is one, below a gateway, if there is one.
func newTier(t testing.TB, d *disk, above *above, change func(*Config)) *tier {
	cfg := createDefaultConfig().(*Config)
	cfg.Windows = []time.Duration{time.Hour}
	r := &tier{TB: t, observed: observe(t), host: componenttest.NewNopHost(), above: above}
	if d != nil {
		cfg.Storage, r.host = &storageID, &storedHost{extension: d}
	}
	if above != nil {
		cfg.Gateways = []uplink.Gateway{uplink.NewDefaultGateway()}
	}
	if change != nil {
		change(cfg)
	}
	r.observed.ID = component.NewID(metadata.Type)
	var err error
	r.trend, err = newTrend(cfg, r.observed.Settings)
	require.NoError(t, err)
	r.connect = func(exporter.Settings, *otlpexporter.Config) (exporter.Logs, error) { return above, nil }
	return r
}

func (r *tier) start() *tier {
	require.NoError(r, r.open(r.Context(), r.host))
	require.NoError(r, r.ascent.start(r.Context(), r.host))
	return r
}

func (r *tier) end() {
	r.publish(r.Context())
	require.NoError(r, r.ascent.shutdown(r.Context()))
	require.NoError(r, r.storage.close(r.Context()))
	r.telemetry.shutdown()
}

func (r *tier) take(ld plog.Logs) { require.NoError(r, r.consume(r.Context(), ld)) }

// total of the rule of a shard, as it would be published now.
func (r *tier) total() (total uint64) {
	lists := newWall(r)
	r.lists = lists
	r.publish(r.Context())
	r.lists = nil
	for _, s := range lists.shown() {
		total = max(total, s.Total)
	}
	return total
}

func (r *tier) metric(name string) int64 {
	g := &gateway{TB: r, observed: r.observed}
	return g.metric(name)
}

// above is the gateway above, as an exporter of the one below.
type above struct {
	component.StartFunc
	component.ShutdownFunc
	*tier // nil: it takes all and counts nothing

	mu       sync.Mutex
	answer   error                   // of all requests, nothing of which is taken
	refuses  func(*wire.State) error // nil: none; a request with one that it refuses is refused
	states   []*wire.State
	requests int
}

// newAbove is a gateway in memory.
func newAbove(t testing.TB) *above { return &above{tier: newTier(t, nil, nil, nil).start()} }

var errAbove = status.Error(codes.Unavailable, "down")

func (*above) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (a *above) ConsumeLogs(ctx context.Context, ld plog.Logs) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests++
	if a.answer != nil {
		return a.answer
	}
	for m, err := range wire.Messages(ld) {
		if err != nil {
			return err
		}
		if s, ok := m.(*wire.State); ok {
			if a.refuses != nil {
				if err := a.refuses(s); err != nil {
					return err
				}
			}
			a.states = append(a.states, s)
		}
	}
	if a.tier == nil {
		return nil
	}
	return a.consume(ctx, ld)
}

// asked is how many requests came.
func (a *above) asked() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.requests
}

// answers err to all from now on; nil: it takes them.
func (a *above) answers(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answer = err
}

// came are the states that it took so far.
func (a *above) came() []*wire.State {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.states)
}

var errFull = errors.New("no space left on device")
