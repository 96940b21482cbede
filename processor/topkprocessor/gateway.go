package topkprocessor

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/otlpexporter"
	"go.opentelemetry.io/collector/processor"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

const (
	helloInterval  = 10 * time.Second // the longest time without a request
	repeatInterval = 30 * time.Second // after which an unchanged open state goes again
	shutdownGrace  = 2 * time.Second  // how long a gateway that does not answer is tried at the end
	shutdownRetry  = 500 * time.Millisecond
)

// gateway sends states to one gateway, from a goroutine of its own: one that hangs delays no other.
type gateway struct {
	counter  *counter
	index    int
	logger   *zap.Logger
	exporter exporter.Logs
	decoder  *zstd.Decoder

	emitted  atomic.Uint64 // emissions so far
	woken    chan struct{}
	stopping chan struct{}
	done     chan struct{}
	ctx      context.Context // of all sends
	cancel   context.CancelFunc

	stats gatewayStats

	// Of the goroutine alone.
	seen      uint64             // emissions that were sent
	sent      map[*seat]sentMark // open states
	last      time.Time          // of the last request answered
	recovered time.Time          // when it answered again; what it had before may be lost
	retry     time.Time          // no request before
	failure   int                // requests that failed since the last one answered
	said      string             // why it did not answer, as last logged
	saidAt    time.Time
	refusal   recurrence
	farewells []past // to be said
	told      uint64 // finals up to this number are counted by the gateway and not stored, and wait until it stores again
	unstored  error  // the answer that said so since the flush began
}

type gatewayStats struct {
	down                      atomic.Bool
	answered, failed, refused atomic.Uint64 // requests
	states, bytes             atomic.Uint64
	statesRefused             ruleCounts
}

// sentMark is what of a seat was answered, and when.
type sentMark struct {
	sequence uint64
	at       time.Time
}

// connect makes the exporter of a gateway.
type connect func(set exporter.Settings, cfg *otlpexporter.Config) (exporter.Logs, error)

func connectOTLP(set exporter.Settings, cfg *otlpexporter.Config) (exporter.Logs, error) {
	return otlpexporter.NewFactory().CreateLogs(context.Background(), set, cfg)
}

func newGateway(c *counter, index int, set processor.Settings, connect connect) (*gateway, error) {
	cfg := otlpexporter.Config(c.cfg.Gateways[index])
	inner := exporter.Settings{
		ID:                component.NewIDWithName(otlpexporter.NewFactory().Type(), fmt.Sprintf("%s/gateways/%d", set.ID, index)),
		TelemetrySettings: set.TelemetrySettings,
		BuildInfo:         set.BuildInfo,
	}
	// The exporter logs every failed request with a stack; the gateway says it once.
	inner.Logger = set.Logger.WithOptions(zap.IncreaseLevel(zapcore.DPanicLevel))
	exp, err := connect(inner, &cfg)
	if err != nil {
		return nil, err
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	return &gateway{
		counter:  c,
		index:    index,
		logger:   c.logger.With(zap.Int("gateway", index), zap.String("endpoint", cfg.ClientConfig.Endpoint)),
		exporter: exp,
		decoder:  decoder,
		woken:    make(chan struct{}, 1),
		stopping: make(chan struct{}),
		done:     make(chan struct{}),
		sent:     map[*seat]sentMark{},
	}, nil
}

func (g *gateway) start(past []past) {
	g.farewells = past
	g.ctx, g.cancel = context.WithCancel(context.Background())
	go g.run()
}

// wake the goroutine: there is something to send.
func (g *gateway) wake() {
	select {
	case g.woken <- struct{}{}:
	default:
	}
}

func (g *gateway) run() {
	defer close(g.done)
	timer := time.NewTimer(helloInterval)
	defer timer.Stop()
	for {
		select {
		case <-g.stopping:
			return
		case <-g.woken:
		case <-timer.C:
		}
		if !time.Now().Before(g.retry) {
			g.flush()
		}
		timer.Reset(g.pause(time.Now()))
	}
}

// pause until there is something to do unasked: the next try, or hello.
func (g *gateway) pause(now time.Time) time.Duration {
	if g.retry.After(now) {
		return g.retry.Sub(now)
	}
	return max(g.last.Add(helloInterval).Sub(now), 0)
}

// flush sends all there is: open states of each emission first, for they are what is waited for, and between two emissions a
// request of finals, or a slow gateway would get none. Where the last request failed, finals come first in turn: they make
// room in a gateway that has none. With clock: event open states always come after all finals, for they move the gateway's
// clock, by which finals of long before would be too late. An answer that says counted and not stored ends no flush, but the
// next one comes as late as that answer asks.
func (g *gateway) flush() {
	inOrder := g.counter.cfg.Clock == clockEvent
	g.unstored = nil
	finalsFirst := inOrder || g.failure%2 == 1
	for !g.stopped() {
		due := g.emitted.Load() != g.seen
		if due && !finalsFirst {
			if err := g.sendEmission(); err != nil {
				g.fail(err)
				return
			}
		}
		sent, err := g.sendFinals()
		if err != nil {
			g.fail(err)
			return
		}
		if due && finalsFirst && !sent {
			if err := g.sendEmission(); err != nil {
				g.fail(err)
				return
			}
		}
		if !due && !sent {
			break
		}
		finalsFirst = inOrder
	}
	if g.unstored != nil {
		g.fail(g.unstored)
		return
	}
	if err := g.sayFarewells(); err != nil {
		g.fail(err)
		return
	}
	if time.Since(g.last) >= helloInterval {
		if err := g.send(nil, false); err != nil {
			g.fail(err)
		}
	}
}

// sendEmission sends the open states of the newest emission.
func (g *gateway) sendEmission() error {
	n := g.emitted.Load()
	if err := g.sendOpen(time.Now()); err != nil {
		return err
	}
	g.seen = n
	return nil
}

func (g *gateway) stopped() bool {
	select {
	case <-g.stopping:
		return true
	default:
		return false
	}
}

// stop sends what is final and says goodbye, as far as ctx allows.
func (g *gateway) stop(ctx context.Context) {
	defer context.AfterFunc(ctx, g.cancel)()
	defer g.cancel()
	defer g.decoder.Close()
	close(g.stopping)
	<-g.done
	grace := time.Now().Add(shutdownGrace)
	for {
		err := g.drain()
		if err == nil {
			return
		}
		g.fail(err)
		if g.ctx.Err() != nil || time.Now().Add(shutdownRetry).After(grace) {
			return
		}
		select {
		case <-g.ctx.Done():
		case <-time.After(shutdownRetry):
		}
	}
}

// drain sends all finals and goodbye.
func (g *gateway) drain() error {
	g.unstored = nil
	for {
		sent, err := g.sendFinals()
		if err != nil {
			return err
		}
		if !sent {
			break
		}
	}
	if g.unstored != nil {
		return g.unstored
	}
	if err := g.sayFarewells(); err != nil {
		return err
	}
	return g.send(nil, true)
}
