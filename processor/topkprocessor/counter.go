package topkprocessor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pipeline"
	"go.opentelemetry.io/collector/processor"
	"go.uber.org/zap"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/uplink"
	"github.com/otel-topk/collector/internal/wire"
)

// counter is what all processors of one configuration count into, and its sender.
type counter struct {
	cfg     *Config
	logger  *zap.Logger
	epoch   wire.Epoch
	shard   string
	ledgers []*ledger
	now     func() time.Time // by which records are judged and buckets close; it may jump
	stripes []*stripe
	turn    atomic.Uint32 // whose lock to wait for when none is free

	logs, traces, metrics finder

	partition *partition // nil: records leave as they came
	merger    *merger
	pending   *uplink.Pending
	vault     *vault           // nil: no storage
	senders   []*uplink.Sender // by gateway
	telemetry *telemetry

	signals []pipeline.Signal // of the pipelines it was made for; complete before start

	life       sync.Mutex
	running    bool
	past       []uplink.Past      // epochs that gateways may still wait for
	stop       context.CancelFunc // ends the background
	background sync.WaitGroup
}

func newCounter(set processor.Settings, cfg *Config, connect uplink.Connect) (*counter, error) {
	set.TelemetrySettings = shared(set.TelemetrySettings)
	c := &counter{
		cfg:     cfg,
		logger:  set.Logger,
		shard:   cfg.Shard,
		now:     time.Now,
		stripes: newStripes(runtime.GOMAXPROCS(0)),
	}
	if c.shard == "" {
		if id, ok := set.Resource.Attributes().Get("service.instance.id"); ok {
			c.shard = id.AsString()
		}
	}
	if _, err := rand.Read(c.epoch[:]); err != nil {
		return nil, fmt.Errorf("epoch: %w", err)
	}
	var errs []error
	for i := range cfg.Rules {
		l, err := newLedger(i, cfg, len(c.stripes), set.TelemetrySettings)
		if err != nil {
			errs = append(errs, fmt.Errorf("rules[%d]: %w", i, err))
			continue
		}
		c.ledgers = append(c.ledgers, l)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	c.logs.ledgers = ofSignal(c.ledgers, pipeline.SignalLogs)
	c.traces.ledgers = ofSignal(c.ledgers, pipeline.SignalTraces)
	c.metrics.ledgers = ofSignal(c.ledgers, pipeline.SignalMetrics)

	var err error
	if c.partition, err = newPartition(c, set.TelemetrySettings); err != nil {
		return nil, fmt.Errorf("partition: %w", err)
	}
	if c.vault, err = newVault(c, set.ID); err != nil {
		return nil, err
	}
	c.pending = uplink.NewPending(cfg.Pending, cfg.Gateways, c.vault.unstore)
	if c.merger, err = newMerger(c); err != nil {
		return nil, err
	}
	for i := range cfg.Gateways {
		g, err := uplink.New(uplink.Options{
			Source: c, Pending: c.pending, Gateways: cfg.Gateways, Logger: c.logger, EmitInterval: cfg.EmitInterval,
			InOrder: cfg.Clock == clockEvent, // open states move a gateway's clock, by which finals of long before would be too late
		}, i, set.ID, set.TelemetrySettings, set.BuildInfo, connect)
		if err != nil {
			return nil, fmt.Errorf("gateways[%d]: %w", i, err)
		}
		c.senders = append(c.senders, g)
	}
	if c.telemetry, err = newTelemetry(c, set.TelemetrySettings); err != nil {
		return nil, err
	}
	return c, nil
}

func ofSignal(all []*ledger, signal pipeline.Signal) []*ledger {
	var of []*ledger
	for _, l := range all {
		if slices.Contains(l.definition.Signals, signal.String()) {
			of = append(of, l)
		}
	}
	return of
}

// start the sender, once. All pipelines have been built by then, so it is known which signals they carry.
func (c *counter) start(ctx context.Context, host component.Host) error {
	c.life.Lock()
	defer c.life.Unlock()
	c.vault.attend(host)
	if c.running {
		return nil
	}
	if err := c.checkSignals(); err != nil {
		return err
	}
	if err := c.partition.start(ctx, host); err != nil {
		return err
	}
	if err := c.vault.open(ctx, host); err != nil {
		return err
	}
	for i, g := range c.senders {
		if err := g.Connect(ctx, host); err != nil {
			_, closing := c.vault.close(ctx)
			return errors.Join(fmt.Errorf("gateways[%d]: %w", i, err), c.stopExporters(ctx, i), closing)
		}
	}
	c.logger.Info("Counting",
		zap.Int("rules", len(c.ledgers)), zap.Int("gateways", len(c.senders)), zap.Int64("memory_bound_bytes", c.memoryBound()))
	var emitting context.Context
	emitting, c.stop = context.WithCancel(context.Background())
	c.background.Go(func() { c.emit(emitting) })
	c.background.Go(func() { c.vault.keepUp(emitting) })
	c.background.Go(func() { c.partition.keepUp(emitting) })
	for _, g := range c.senders {
		g.Start(c.past)
	}
	c.running = true
	return nil
}

func (c *counter) checkSignals() error {
	var errs []error
	for i, l := range c.ledgers {
		if !slices.ContainsFunc(c.signals, func(s pipeline.Signal) bool { return slices.Contains(l.definition.Signals, s.String()) }) {
			errs = append(errs, fmt.Errorf("rules[%d]: %q counts %v, and no such pipeline names this processor",
				i, l.definition.Name, l.definition.Signals))
		}
	}
	return errors.Join(errs...)
}

// shutdown, by the last user: what is open is sent as final, as far as ctx allows.
func (c *counter) shutdown(ctx context.Context) error {
	c.life.Lock()
	defer c.life.Unlock()
	defer c.telemetry.shutdown()
	if !c.running {
		return nil
	}
	c.running = false
	c.stop()
	c.background.Wait()
	c.merger.closeAll(c.now().UnixNano())
	c.vault.settle()
	var drained sync.WaitGroup
	for _, g := range c.senders {
		drained.Go(func() { g.Stop(ctx) })
	}
	drained.Wait()
	durable, err := c.vault.close(ctx)
	lost, stored := c.pending.Abandon(durable)
	if lost > 0 {
		c.logger.Warn("Stopped before every final state was answered; their counts are lost", zap.Int("states", lost))
	}
	if stored > 0 {
		c.logger.Info("Stopped before every final state was answered; they are stored and go at the next start", zap.Int("states", stored))
	}
	return errors.Join(err, c.stopExporters(ctx, len(c.senders)))
}

// stopExporters stops the first n.
func (c *counter) stopExporters(ctx context.Context, n int) error {
	var errs []error
	for _, g := range c.senders[:n] {
		errs = append(errs, g.Close(ctx))
	}
	return errors.Join(errs...)
}

// take what was found in a request that was taken: into the journal, then into the count.
func (c *counter) take(found *findings) {
	now := c.now().UnixNano()
	if v := c.vault; v != nil {
		v.gate.RLock()
		defer v.gate.RUnlock()
		v.record(found, now)
	}
	c.count(found, now)
}

// count what was found. An event clock moves with it, so each step of the way closes what is due.
func (c *counter) count(found *findings, now int64) {
	if c.cfg.Clock == clockEvent {
		for i := range found.ledgers {
			for step := range steps(&found.batches[i], c.openBuckets()) {
				c.add(found.ledgers[i:i+1], step, now)
				c.merger.closeDue(found.ledgers[i:i+1], now)
			}
		}
		return
	}
	c.add(found.ledgers, found.batches, now)
}

func (c *counter) add(ledgers []*ledger, batches []rule.Batch, now int64) {
	s := c.stripe()
	defer s.mu.Unlock()
	for i, l := range ledgers {
		s.count(l, &batches[i], now)
	}
}

// stripe is one that is free, with its lock held.
func (c *counter) stripe() *stripe {
	for _, s := range c.stripes {
		if s.mu.TryLock() {
			return s
		}
	}
	s := c.stripes[int(c.turn.Add(1))%len(c.stripes)]
	s.mu.Lock()
	return s
}
