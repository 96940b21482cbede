package trendreceiver

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.opentelemetry.io/collector/component"
	"go.uber.org/zap"

	"github.com/otel-topk/collector/internal/board"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/uplink"
	"github.com/otel-topk/collector/internal/wire"
)

const (
	// emitInterval is the time between two emissions at least, as that of a processor.
	emitInterval = 2 * time.Second

	// knownDefinitions are measured once.
	knownDefinitions = 1000
)

// ascent sends what the board makes to the gateways above, which this one is a shard of.
type ascent struct {
	trend   *trend
	board   board.Ascent
	pending *uplink.Pending
	senders []*uplink.Sender
	encoder *zstd.Encoder
	open    atomic.Pointer[[]uplink.Open] // of the newest emission
	stop    context.CancelFunc            // ends the emissions
	done    chan struct{}

	order sync.Mutex // a fold and its final states come between two emissions
	sizes map[*rule.Definition]int

	mu      sync.Mutex
	settled []*wire.State // since the last change of the board
}

// openKey names an open state: its set is of one rule and minute.
type openKey struct {
	set   wire.Epoch
	group rule.Group
}

// openAscent makes what the board needs to be a shard, under the epoch sender; or nothing, where it is to be none.
func (t *trend) openAscent(sender wire.Epoch) error {
	a := &ascent{trend: t, sizes: map[*rule.Definition]int{}}
	a.board = board.Ascent{Sender: sender, Shard: t.cfg.Shard, ReplicaSet: t.cfg.ReplicaSet, Final: a.add}
	if a.board.Shard == "" {
		if id, ok := t.set.Resource.Attributes().Get("service.instance.id"); ok {
			a.board.Shard = id.AsString()
		}
	}
	var err error
	if a.encoder, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1)); err != nil {
		return fmt.Errorf("zstd: %w", err)
	}
	a.open.Store(&[]uplink.Open{})
	a.pending = uplink.NewPending(t.cfg.Pending, t.cfg.Gateways, a.unstore)
	for i := range t.cfg.Gateways {
		sender, err := uplink.New(uplink.Options{
			Source: a, Pending: a.pending, Gateways: t.cfg.Gateways, Logger: t.set.Logger, EmitInterval: emitInterval, Lasting: t.storage != nil,
			InOrder: true, // what moves from one fold to the next would count twice above
		}, i, t.set.ID, t.set.TelemetrySettings, t.set.BuildInfo, t.connect)
		if err != nil {
			return fmt.Errorf("gateways[%d]: %w", i, err)
		}
		a.senders = append(a.senders, sender)
	}
	t.ascent = a
	return nil
}

// start with what the process before had not settled.
func (a *ascent) start(ctx context.Context, host component.Host) error {
	if a == nil {
		return nil
	}
	if err := a.trend.locked(func(b *board.Board) {
		for _, s := range b.Unsettled() {
			a.add(s)
		}
	}); err != nil {
		return err
	}
	a.pending.Release() // they were durable
	for i, sender := range a.senders {
		if err := sender.Connect(ctx, host); err != nil {
			return errors.Join(fmt.Errorf("gateways[%d]: %w", i, err), a.close(ctx, i))
		}
	}
	a.trend.set.Logger.Info("Sending to gateways, as a shard of each",
		zap.Int("gateways", len(a.senders)), zap.String("shard", a.board.Shard), zap.String("replica_set", a.board.ReplicaSet))
	for _, sender := range a.senders {
		sender.Start(nil)
	}
	emitting, cancel := context.WithCancel(context.Background())
	a.stop, a.done = cancel, make(chan struct{})
	go func() {
		defer close(a.done)
		a.emitUntil(emitting)
	}()
	return nil
}

// shutdown sends what is open and final, as far as ctx allows.
func (a *ascent) shutdown(ctx context.Context) error {
	if a == nil || a.stop == nil {
		return nil
	}
	a.stop()
	<-a.done
	a.emit(ctx)
	var drained sync.WaitGroup
	for _, sender := range a.senders {
		drained.Go(func() { sender.Stop(ctx) })
	}
	drained.Wait()
	durable := a.settle(ctx) == nil && a.trend.storage != nil
	if lost, _ := a.pending.Abandon(durable); lost > 0 {
		a.trend.set.Logger.Warn("Stopped before the gateways had answered every final state; their counts are lost above", zap.Int("states", lost))
	}
	return a.close(ctx, len(a.senders))
}

func (a *ascent) close(ctx context.Context, n int) error {
	var errs []error
	for _, sender := range a.senders[:n] {
		errs = append(errs, sender.Close(ctx))
	}
	return errors.Join(errs...)
}

func (a *ascent) emitUntil(ctx context.Context) {
	timer := time.NewTimer(emitInterval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		a.pending.Expire(a.trend.now().UnixNano())
		timer.Reset(uplink.Pace(emitInterval, a.emit(ctx)))
	}
}

// emit what is live, once it is durable: a gateway above would not forget what this one may. It returns the bytes of what changed.
func (a *ascent) emit(ctx context.Context) (size int) {
	a.order.Lock()
	defer a.order.Unlock()
	var states []*wire.State
	settled := a.takeSettled()
	err := a.trend.change(ctx, func(b *board.Board) {
		for _, s := range settled {
			b.Settle(s)
		}
		states = b.Open(a.trend.now().UnixNano())
	})
	if err != nil {
		return 0
	}
	a.pending.Release() // what a publication could not make durable is durable now, and goes before what came after it
	before := map[any]uint64{}
	for _, o := range *a.open.Load() {
		before[o.Key] = o.State.Sequence
	}
	open := make([]uplink.Open, len(states))
	for i, s := range states {
		key := openKey{s.Epoch, s.Group}
		open[i] = uplink.Open{Key: key, State: *s, Overhead: a.overhead(s.Rule)}
		if before[key] != s.Sequence {
			size += len(s.Encoded) + open[i].Overhead
		}
	}
	a.open.Store(&open)
	for _, sender := range a.senders {
		sender.Emitted()
	}
	return size
}

// publishing calls publish, which folds and says whether it is durable, between two emissions, and sends the final states on.
func (a *ascent) publishing(publish func() error) {
	if a == nil {
		_ = publish()
		return
	}
	a.order.Lock()
	defer a.order.Unlock()
	if publish() == nil {
		a.release()
	}
}

// release what was held, as it is durable now.
func (a *ascent) release() {
	a.pending.Release()
	for _, sender := range a.senders {
		sender.Wake()
	}
}

// add a final state to those that are sent once they are durable.
func (a *ascent) add(s *wire.State) {
	f := &uplink.Final{
		ID: a.pending.Number(), State: *s, Overhead: a.overhead(s.Rule), Packed: a.encoder.EncodeAll(s.Encoded, nil), Size: len(s.Encoded),
		Expires: a.expiry(s), Stored: true, Held: true,
	}
	f.State.Encoded = nil
	if !a.wanted(s.Rule.Name) {
		a.unstore(f)
		return
	}
	a.pending.Add(f)
}

// wanted says whether some gateway takes a rule.
func (a *ascent) wanted(name string) bool {
	for i := range a.trend.cfg.Gateways {
		if a.trend.cfg.Gateways[i].Takes(name) {
			return true
		}
	}
	return false
}

func (a *ascent) expiry(s *wire.State) int64 {
	if a.trend.cfg.Clock == clockEvent {
		return a.trend.now().Add(a.trend.cfg.Retain).UnixNano()
	}
	return s.Minute.End() + int64(a.trend.cfg.Retain)
}

func (a *ascent) overhead(d *rule.Definition) int {
	n, ok := a.sizes[d]
	if !ok {
		if len(a.sizes) >= knownDefinitions {
			clear(a.sizes)
		}
		n, _ = uplink.Overhead(d) // it came as it is
		a.sizes[d] = n
	}
	return n
}

// unstore a final state that no gateway waits for, with the next change of the board.
func (a *ascent) unstore(f *uplink.Final) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.settled = append(a.settled, &f.State)
}

func (a *ascent) takeSettled() []*wire.State {
	a.mu.Lock()
	defer a.mu.Unlock()
	settled := a.settled
	a.settled = nil
	return settled
}

// settle what was answered last.
func (a *ascent) settle(ctx context.Context) error {
	settled := a.takeSettled()
	return a.trend.change(ctx, func(b *board.Board) {
		for _, s := range settled {
			b.Settle(s)
		}
	})
}

// Open are the states of the newest emission.
func (a *ascent) Open() []uplink.Open { return *a.open.Load() }

// Report of this gateway, and of the shards below it.
func (a *ascent) Report() *wire.Report {
	a.trend.mu.Lock()
	defer a.trend.mu.Unlock()
	return &wire.Report{Epoch: a.board.Sender, Shard: a.board.Shard, Through: a.trend.board.Through(), Rules: a.trend.board.RuleReports(rand.Uint64())}
}

// Commit does nothing: what is pending is durable.
func (a *ascent) Commit() {}
