package trendreceiver

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"

	"github.com/otel-topk/collector/internal/board"
)

// trend is a board with a network on one side and pipelines on the other.
type trend struct {
	cfg       *Config
	set       receiver.Settings
	telemetry *telemetry
	lists     consumer.Logs // nil: no logs pipeline
	gauges    *gauges       // nil: no metrics pipeline

	otlp   receiver.Logs
	cancel context.CancelFunc
	done   chan struct{} // closed when publishing has ended

	mu    sync.Mutex // guards board
	board *board.Board
	first chan struct{} // something may be there to publish; read until the first publication
}

func newTrend(cfg *Config, set receiver.Settings) (*trend, error) {
	tel, err := newTelemetry(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	t := &trend{
		cfg:       cfg,
		set:       set,
		telemetry: tel,
		board: board.New(board.Config{
			Windows:      cfg.Windows,
			Event:        cfg.Clock == clockEvent,
			Retain:       cfg.Retain,
			PointQueries: cfg.PointQueries,
			MaxRules:     cfg.MaxRules,
			MaxGroups:    cfg.MaxGroups,
			MaxEpochs:    cfg.MaxShards,
			KeepMinutes:  cfg.Keep.Minutes,
			MaxLiveBytes: cfg.MaxStatesSize,
			MaxPartBytes: cfg.MaxPartsSize,
			MaxListBytes: cfg.MaxListsSize,
		}),
		first: make(chan struct{}, 1),
	}
	return t, nil
}

// Start begins to publish and to listen, or neither.
func (t *trend) Start(ctx context.Context, host component.Host) error {
	if err := t.telemetry.observe(t.stats); err != nil {
		return err
	}
	otlp, err := t.listener(ctx)
	if err != nil {
		return err
	}
	if err := otlp.Start(ctx, host); err != nil {
		return errors.Join(err, otlp.Shutdown(ctx))
	}
	t.otlp = otlp
	publishing, cancel := context.WithCancel(context.Background())
	t.cancel, t.done = cancel, make(chan struct{})
	go func() {
		defer close(t.done)
		t.publishUntil(publishing)
	}()
	return nil
}

// listener is the standard OTLP receiver with a logs consumer only: other signals are not answered.
func (t *trend) listener(ctx context.Context) (receiver.Logs, error) {
	factory := otlpreceiver.NewFactory()
	cfg := factory.CreateDefaultConfig().(*otlpreceiver.Config)
	cfg.Protocols = t.cfg.Protocols
	next, err := consumer.NewLogs(t.consume)
	if err != nil {
		return nil, err
	}
	set := t.set
	set.ID = component.NewIDWithName(factory.Type(), t.set.ID.String())
	return factory.CreateLogs(ctx, set, cfg, next)
}

// Shutdown stops listening, publishes what came last, and waits for all of it as long as ctx allows.
func (t *trend) Shutdown(ctx context.Context) error {
	defer t.telemetry.shutdown()
	if t.otlp == nil {
		return nil
	}
	err := t.otlp.Shutdown(ctx)
	t.cancel()
	select {
	case <-t.done:
	case <-ctx.Done():
		return errors.Join(err, ctx.Err())
	}
	t.publish(ctx, time.Now())
	return err
}

func (t *trend) stats() board.Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.board.Stats()
}
