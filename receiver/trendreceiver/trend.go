package trendreceiver

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.uber.org/zap"

	"github.com/otel-topk/collector/internal/board"
	"github.com/otel-topk/collector/internal/depot"
	"github.com/otel-topk/collector/internal/uplink"
	"github.com/otel-topk/collector/internal/wire"
)

const (
	// longest is how long a publication holds up requests, as far as it can be interrupted.
	longest = 5 * time.Millisecond

	// patience is how long the requests that are being answered at the end are waited for.
	patience = 10 * time.Second
)

// trend is a board with a network on one side and pipelines on the other.
type trend struct {
	cfg       *Config
	set       receiver.Settings
	telemetry *telemetry
	lists     consumer.Logs // nil: no logs pipeline
	gauges    *gauges       // nil: no metrics pipeline
	hosts     []component.Host
	now       func() time.Time // what the board goes by
	connect   uplink.Connect   // to gateways

	gate     *gate
	otlp     receiver.Logs
	patience time.Duration      // with requests that are being answered at the end
	stop     chan struct{}      // closed: no publication begins any more
	cancel   context.CancelFunc // of the publication that goes on
	done     chan struct{}      // closed when publishing has ended

	mu       sync.Mutex // guards board
	since    time.Time  // when it was locked
	board    *board.Board
	storage  *storage      // nil: none
	ascent   *ascent       // nil: this gateway is no shard of another
	restored bool          // the board began with what was stored
	first    chan struct{} // something may be there to publish; read until the first publication
}

func newTrend(cfg *Config, set receiver.Settings) (*trend, error) {
	tel, err := newTelemetry(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	return &trend{
		cfg: cfg, set: set, telemetry: tel, connect: uplink.ConnectOTLP, gate: &gate{telemetry: tel}, now: time.Now, patience: patience, first: make(chan struct{}, 1),
	}, nil
}

// Start goes on where the storage ends, and begins to publish and to listen; or does nothing of it.
func (t *trend) Start(ctx context.Context, host component.Host) error {
	if err := t.open(ctx, host); err != nil {
		return err
	}
	otlp, err := t.listener(ctx)
	if err != nil {
		return errors.Join(err, t.storage.close(ctx))
	}
	if err := otlp.Start(ctx, gatedHost{host, t.gate}); err != nil {
		return errors.Join(err, otlp.Shutdown(ctx), t.storage.close(ctx))
	}
	if err := t.ascent.start(ctx, host); err != nil {
		return errors.Join(err, otlp.Shutdown(ctx), t.storage.close(ctx))
	}
	t.otlp = otlp
	publishing, cancel := context.WithCancel(context.Background())
	t.stop, t.cancel, t.done = make(chan struct{}), cancel, make(chan struct{})
	go func() {
		defer close(t.done)
		t.publishUntil(publishing, t.stop)
	}()
	return nil
}

// open makes the board, with what is stored. A storage of which that cannot be read is not used.
func (t *trend) open(ctx context.Context, host component.Host) error {
	s, err := t.openStorage(ctx, host)
	if err != nil {
		return err
	}
	t.storage = s
	failed, err := t.begin(ctx)
	if failed != nil {
		t.withoutStorage(errors.Join(failed, s.close(ctx)))
		t.storage = nil
		_, err = t.begin(ctx)
	}
	t.telemetry.bounded(t.boardConfig(t.storage), t.uplinkBound())
	err = errors.Join(err, t.telemetry.observe(t.stats))
	if t.cfg.Storage != nil {
		err = errors.Join(err, t.telemetry.observeStorage(t.storage))
	}
	if len(t.cfg.Gateways) > 0 {
		err = errors.Join(err, t.telemetry.observeAscent(t.ascent, len(t.cfg.Gateways)))
	}
	if err != nil {
		err = errors.Join(err, t.storage.close(ctx))
	}
	return err
}

// begin with what is in the storage, if there is one. The first error is of the storage.
func (t *trend) begin(ctx context.Context) (failed, err error) {
	t.ascent = nil
	if len(t.cfg.Gateways) > 0 {
		switch sender, failed := t.storage.sender(ctx); {
		case failed != nil:
			return failed, nil
		case t.storage == nil && t.cfg.ReplicaSet == "":
			t.telemetry.staysBelow()
		default:
			if err := t.openAscent(sender); err != nil {
				return nil, err
			}
		}
	}
	t.board = board.New(t.boardConfig(t.storage))
	if t.storage == nil {
		return nil, nil
	}
	return t.restore(ctx), nil
}

// uplinkBound is the most memory that sending to gateways takes.
func (t *trend) uplinkBound() int64 {
	if t.ascent == nil {
		return 0
	}
	return uplink.MemoryBound(t.cfg.Pending, len(t.ascent.senders), wire.MaxBodyBytes)
}

// restore the board. What cannot be stored now is told, and no reason not to start.
func (t *trend) restore(ctx context.Context) (failed error) {
	staging := t.locked(func(b *board.Board) {
		failed = b.Restore(t.now().UnixNano(), func(visit func(key string, size int, open func() ([]byte, bool))) error {
			return t.storage.depot.Walk(ctx, func(v depot.Value) { visit(v.Key, v.Size, v.Open) })
		})
		if t.restored = b.Stats().Rules > 0; t.restored {
			t.telemetry.restored(b.Stats())
		}
	})
	if failed == nil {
		_ = t.storage.commit(ctx, staging)
	}
	return failed
}

// report tells every pipeline's host how the receiver is.
func (t *trend) report(e *componentstatus.Event) {
	for _, host := range t.hosts {
		componentstatus.ReportStatus(host, e)
	}
}

func (t *trend) boardConfig(s *storage) board.Config {
	cfg := board.Config{
		Windows:      t.cfg.Windows,
		Event:        t.cfg.Clock == clockEvent,
		Retain:       t.cfg.Retain,
		PointQueries: t.cfg.PointQueries,
		MaxRules:     t.cfg.MaxRules,
		MaxGroups:    t.cfg.MaxGroups,
		MaxEpochs:    t.cfg.MaxShards,
		KeepMinutes:  t.cfg.Keep.Minutes,
		KeepHours:    t.cfg.Keep.Hours,
		MaxLiveBytes: t.cfg.MaxStatesSize,
		MaxPartBytes: t.cfg.MaxPartsSize,
		MaxListBytes: t.cfg.MaxListsSize,
		Pause:        t.pause,
	}
	if t.ascent != nil {
		cfg.Ascent = &t.ascent.board
	}
	if s != nil {
		cfg.Shelf = s
	}
	return cfg
}

// listener is the standard OTLP receiver with a logs consumer only: other signals are not answered.
func (t *trend) listener(ctx context.Context) (receiver.Logs, error) {
	factory := otlpreceiver.NewFactory()
	cfg := factory.CreateDefaultConfig().(*otlpreceiver.Config)
	cfg.Protocols = t.gate.protocols(t.cfg.Protocols)
	next, err := consumer.NewLogs(t.consume)
	if err != nil {
		return nil, err
	}
	set := t.set
	set.ID = component.NewIDWithName(factory.Type(), t.set.ID.String())
	return factory.CreateLogs(ctx, set, cfg, next)
}

// Shutdown stops listening, publishes what came last, and closes the storage. It waits for all of it as long as ctx allows.
func (t *trend) Shutdown(ctx context.Context) error {
	defer t.telemetry.shutdown()
	if t.otlp == nil {
		return nil
	}
	err := t.stopListening(ctx)
	close(t.stop)
	defer t.cancel()
	select {
	case <-t.done:
		t.publish(ctx)
	case <-ctx.Done():
		err = errors.Join(err, ctx.Err())
	}
	return errors.Join(err, t.ascent.shutdown(ctx), t.storage.close(ctx))
}

// stopListening waits for the requests that are being answered, but no longer than it may take to answer one: a client that
// sends half a request and no more is given up, and is no reason for an error.
func (t *trend) stopListening(ctx context.Context) error {
	waiting, cancel := context.WithTimeout(ctx, t.patience)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- t.otlp.Shutdown(waiting) }()
	var err error
	select {
	case err = <-stopped:
	case <-waiting.Done():
		err = waiting.Err()
	}
	if waiting.Err() != nil && ctx.Err() == nil {
		t.set.Logger.Warn("Requests that are not answered yet are given up", zap.Duration("after", t.patience))
		return nil
	}
	return err
}

// change gives f the board, and returns when all that it stored is durable, together.
func (t *trend) change(ctx context.Context, f func(*board.Board)) error {
	return t.storage.commit(ctx, t.locked(f))
}

func (t *trend) locked(f func(*board.Board)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.since = time.Now()
	f(t.board)
	return t.storage.apply()
}

// pause of a long publication lets requests have the board.
func (t *trend) pause() bool {
	if time.Since(t.since) < longest {
		return false
	}
	t.storage.hand()
	t.mu.Unlock()
	t.mu.Lock()
	t.since = time.Now()
	return true
}

func (t *trend) stats() board.Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.board.Stats()
}
