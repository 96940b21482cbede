package uplink

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/otlpexporter"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/otel-topk/collector/internal/wire"
)

const (
	helloInterval  = 10 * time.Second // the longest time without a request
	repeatInterval = 30 * time.Second // after which an unchanged open state goes again
	shutdownGrace  = 2 * time.Second  // how long a gateway that does not answer is tried at the end
	shutdownRetry  = 500 * time.Millisecond
)

// Open is an open state to send.
type Open struct {
	Key      any        // names what it is the state of; comparable
	State    wire.State // a Sequence stands for one content
	Overhead int        // bytes of State beside its summary and its group, about
}

// Source is what sends.
type Source interface {
	// Open are the open states of the newest emission.
	Open() []Open
	// Report of the shard, but for what was dropped.
	Report() *wire.Report
	// Commit returns when the finals that are to be sent are as durable as they get.
	Commit()
}

// Options of all senders of one source.
type Options struct {
	Source   Source
	Pending  *Pending
	Gateways []Gateway
	Logger   *zap.Logger

	// EmitInterval is the time between two emissions at least; the first retry comes after it.
	EmitInterval time.Duration

	// Lasting says that the epoch outlasts the process, which then says no goodbye.
	Lasting bool

	// InOrder sends no open state before the finals that were pending when it was made.
	InOrder bool
}

// Sender sends states to one gateway, from a goroutine of its own: one that hangs delays no other.
type Sender struct {
	Index int
	Stats Stats

	Options
	exporter exporter.Logs
	decoder  *zstd.Decoder

	emitted  atomic.Uint64 // emissions so far
	woken    chan struct{}
	stopping chan struct{}
	done     chan struct{}
	ctx      context.Context // of all sends
	cancel   context.CancelFunc

	// Of the goroutine alone.
	seen      uint64           // emissions that were sent
	sent      map[any]sentMark // open states, by key
	last      time.Time        // of the last request answered
	recovered time.Time        // when it answered again; what it had before may be lost
	retry     time.Time        // no request before
	failure   int              // requests that failed since the last one answered
	said      string           // why it did not answer, as last logged
	saidAt    time.Time
	refusedAt time.Time // when a state was last refused for good
	farewells []Past    // to be said
	told      uint64    // finals up to this number are counted by the gateway and not stored, and wait until it stores again
	unstored  error     // the answer that said so since the flush began
}

// Stats of one gateway. They may be read at any time.
type Stats struct {
	Down                      atomic.Bool
	Answered, Failed, Refused atomic.Uint64 // requests
	States, Bytes             atomic.Uint64
	StatesRefused             RuleCounts
}

// Past is an epoch of this shard that has ended. Gateways are told once all its finals are settled.
type Past struct {
	Epoch wire.Epoch
	Shard string
}

// sentMark is what of an open state was answered, and when.
type sentMark struct {
	sequence uint64
	at       time.Time
}

// Connect makes the exporter of a gateway.
type Connect func(set exporter.Settings, cfg *otlpexporter.Config) (exporter.Logs, error)

// ConnectOTLP makes an otlp_grpc exporter.
func ConnectOTLP(set exporter.Settings, cfg *otlpexporter.Config) (exporter.Logs, error) {
	return otlpexporter.NewFactory().CreateLogs(context.Background(), set, cfg)
}

// New makes the sender to gateway index of a component.
func New(o Options, index int, id component.ID, set component.TelemetrySettings, build component.BuildInfo, connect Connect) (*Sender, error) {
	cfg := otlpexporter.Config(o.Gateways[index].Exporter)
	inner := exporter.Settings{
		ID:                component.NewIDWithName(otlpexporter.NewFactory().Type(), fmt.Sprintf("%s/gateways/%d", id, index)),
		TelemetrySettings: set,
		BuildInfo:         build,
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
	o.Logger = o.Logger.With(zap.Int("gateway", index), zap.String("endpoint", cfg.ClientConfig.Endpoint))
	return &Sender{
		Index:    index,
		Options:  o,
		exporter: exp,
		decoder:  decoder,
		woken:    make(chan struct{}, 1),
		stopping: make(chan struct{}),
		done:     make(chan struct{}),
		sent:     map[any]sentMark{},
	}, nil
}

// Connect starts the exporter.
func (g *Sender) Connect(ctx context.Context, host component.Host) error {
	return g.exporter.Start(ctx, host)
}

// Close stops the exporter.
func (g *Sender) Close(ctx context.Context) error { return g.exporter.Shutdown(ctx) }

// Emitted says that there is a new emission.
func (g *Sender) Emitted() {
	g.emitted.Add(1)
	g.Wake()
}

// Start sending. Farewells are said for past epochs.
func (g *Sender) Start(past []Past) {
	g.farewells = past
	g.ctx, g.cancel = context.WithCancel(context.Background())
	go g.run()
}

// Wake the goroutine: there is something to send.
func (g *Sender) Wake() {
	select {
	case g.woken <- struct{}{}:
	default:
	}
}

func (g *Sender) run() {
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
func (g *Sender) pause(now time.Time) time.Duration {
	if g.retry.After(now) {
		return g.retry.Sub(now)
	}
	return max(g.last.Add(helloInterval).Sub(now), 0)
}

// flush sends all there is: open states of each emission first, for they are what is waited for, and between two emissions a
// request of finals, or a slow gateway would get none. Where the last request failed, finals come first in turn: they make
// room in a gateway that has none. In order, open states come after all finals that were pending when they were made. An answer that says counted and not stored ends no flush, but the
// next one comes as late as that answer asks.
func (g *Sender) flush() {
	g.unstored = nil
	finalsFirst := g.InOrder || g.failure%2 == 1
	for !g.stopped() {
		n := g.emitted.Load()
		due := n != g.seen
		var open []Open
		if due {
			open = g.Source.Open()
		}
		if due && !finalsFirst {
			if err := g.sendEmission(n, open); err != nil {
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
			if err := g.sendEmission(n, open); err != nil {
				g.fail(err)
				return
			}
		}
		if !due && !sent {
			break
		}
		finalsFirst = g.InOrder
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

// sendEmission sends the open states of an emission.
func (g *Sender) sendEmission(n uint64, open []Open) error {
	if err := g.sendOpen(open, time.Now()); err != nil {
		return err
	}
	g.seen = n
	return nil
}

func (g *Sender) stopped() bool {
	select {
	case <-g.stopping:
		return true
	default:
		return false
	}
}

// Stop sends what is final and says goodbye, if that is wanted, as far as ctx allows.
func (g *Sender) Stop(ctx context.Context) {
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

// drain sends all finals, the open states of an emission that came last, and goodbye.
func (g *Sender) drain() error {
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
	if n := g.emitted.Load(); n != g.seen {
		if err := g.sendEmission(n, g.Source.Open()); err != nil {
			return err
		}
	}
	if g.unstored != nil {
		return g.unstored
	}
	if err := g.sayFarewells(); err != nil || g.Lasting {
		return err
	}
	return g.send(nil, true)
}
