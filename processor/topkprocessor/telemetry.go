package topkprocessor

import (
	"context"
	"errors"
	"sync/atomic"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/otel-topk/collector/internal/uplink"
	"github.com/otel-topk/collector/processor/topkprocessor/internal/metadata"
)

// telemetry reads the counter's tallies when somebody asks; nothing is measured on the way of records.
type telemetry struct {
	builder *metadata.TelemetryBuilder
}

type observe func(value int64, attrs ...attribute.KeyValue)

func newTelemetry(c *counter, set component.TelemetrySettings) (*telemetry, error) {
	b, err := metadata.NewTelemetryBuilder(set)
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		b.RegisterProcessorTopkFinalsDroppedCallback(observed(c.observeDropped)),
		b.RegisterProcessorTopkFinalsPendingCallback(observed(c.perGateway(func(g *uplink.Sender) int64 {
			n, _ := c.pending.Count(g.Index)
			return int64(n)
		}))),
		b.RegisterProcessorTopkGatewayUpCallback(observed(c.perGateway(func(g *uplink.Sender) int64 {
			if g.Stats.Down.Load() {
				return 0
			}
			return 1
		}))),
		b.RegisterProcessorTopkGroupsOpenCallback(observed(c.perRule(func(l *ledger) int64 { return l.groups() }))),
		b.RegisterProcessorTopkHotKeysCallback(observed(c.ofPartition(func(p *partition) int64 { return int64(len(*p.hot.Load())) }))),
		b.RegisterProcessorTopkHotListFailuresCallback(observed(c.ofPartition(func(p *partition) int64 { return p.listFailures() }))),
		b.RegisterProcessorTopkKeysAlteredCallback(observed(c.perReason(
			reason{"cut", func(t *tally) *atomic.Uint64 { return &t.cut }},
			reason{"repaired", func(t *tally) *atomic.Uint64 { return &t.repaired }},
		))),
		b.RegisterProcessorTopkPendingBytesCallback(observed(func(o observe) { o(c.pending.Bytes()) })),
		b.RegisterProcessorTopkRecordsCountedCallback(observed(c.perRule(func(l *ledger) int64 { return int64(l.tally.counted.Load()) }))),
		b.RegisterProcessorTopkRecordsFutureCallback(observed(c.perRule(func(l *ledger) int64 { return int64(l.tally.future.Load()) }))),
		b.RegisterProcessorTopkRecordsLateCallback(observed(c.perRule(func(l *ledger) int64 { return int64(l.tally.late.Load()) }))),
		b.RegisterProcessorTopkRecordsOverflowedCallback(observed(c.perRule(func(l *ledger) int64 { return int64(l.tally.overflowed.Load()) }))),
		b.RegisterProcessorTopkRecordsSkippedCallback(observed(c.perReason(
			reason{"unmatched", func(t *tally) *atomic.Uint64 { return &t.unmatched }},
			reason{"missing_key", func(t *tally) *atomic.Uint64 { return &t.missingKey }},
			reason{"bad_weight", func(t *tally) *atomic.Uint64 { return &t.badWeight }},
			reason{"error", func(t *tally) *atomic.Uint64 { return &t.failed }},
			reason{"total", func(t *tally) *atomic.Uint64 { return &t.full }},
		))),
		b.RegisterProcessorTopkRequestsCallback(observed(c.observeRequests)),
		b.RegisterProcessorTopkSentBytesCallback(observed(c.perGateway(func(g *uplink.Sender) int64 { return int64(g.Stats.Bytes.Load()) }))),
		b.RegisterProcessorTopkStatesRefusedCallback(observed(c.observeRefused)),
		b.RegisterProcessorTopkStatesSentCallback(observed(c.perGateway(func(g *uplink.Sender) int64 { return int64(g.Stats.States.Load()) }))),
		b.RegisterProcessorTopkStorageFailuresCallback(observed(c.ofVault(func(v *vault) int64 { return int64(v.failures.Load()) }))),
		b.RegisterProcessorTopkStorageUpCallback(observed(c.ofVault(func(v *vault) int64 { return int64(oneIf(v.isUp())) }))),
		b.RegisterProcessorTopkStoredDamagedCallback(observed(c.ofVault(func(v *vault) int64 { return int64(v.damaged()) }))),
	)
	if err != nil {
		b.Shutdown()
		return nil, err
	}
	return &telemetry{builder: b}, nil
}

func (t *telemetry) shutdown() { t.builder.Shutdown() }

func observed(read func(observe)) metric.Int64Callback {
	return func(_ context.Context, o metric.Int64Observer) error {
		read(func(value int64, attrs ...attribute.KeyValue) { o.Observe(value, metric.WithAttributes(attrs...)) })
		return nil
	}
}

func ruleAttr(l *ledger) attribute.KeyValue           { return attribute.String("rule", l.definition.Name) }
func gatewayAttr(g *uplink.Sender) attribute.KeyValue { return attribute.Int("gateway", g.Index) }

func (c *counter) perRule(read func(*ledger) int64) func(observe) {
	return func(o observe) {
		for _, l := range c.ledgers {
			o(read(l), ruleAttr(l))
		}
	}
}

func (c *counter) perGateway(read func(*uplink.Sender) int64) func(observe) {
	return func(o observe) {
		for _, g := range c.senders {
			o(read(g), gatewayAttr(g))
		}
	}
}

func (c *counter) ofVault(read func(*vault) int64) func(observe) {
	return func(o observe) {
		if c.vault != nil {
			o(read(c.vault))
		}
	}
}

func (c *counter) ofPartition(read func(*partition) int64) func(observe) {
	return func(o observe) {
		if c.partition != nil {
			o(read(c.partition), ruleAttr(c.partition.ledger))
		}
	}
}

type reason struct {
	name string
	of   func(*tally) *atomic.Uint64
}

func (c *counter) perReason(reasons ...reason) func(observe) {
	return func(o observe) {
		for _, l := range c.ledgers {
			for _, r := range reasons {
				o(int64(r.of(&l.tally).Load()), ruleAttr(l), attribute.String("reason", r.name))
			}
		}
	}
}

func (c *counter) observeDropped(o observe) {
	for _, g := range c.senders {
		for reason := range uplink.DropReasons {
			for rule, n := range c.pending.Dropped[g.Index][reason].All(c.ruleNames()) {
				o(int64(n), gatewayAttr(g), attribute.String("rule", rule), attribute.String("reason", uplink.DropReason(reason)))
			}
		}
	}
}

func (c *counter) observeRequests(o observe) {
	for _, g := range c.senders {
		o(int64(g.Stats.Answered.Load()), gatewayAttr(g), attribute.String("outcome", "answered"))
		o(int64(g.Stats.Failed.Load()), gatewayAttr(g), attribute.String("outcome", "failed"))
		o(int64(g.Stats.Refused.Load()), gatewayAttr(g), attribute.String("outcome", "refused"))
	}
}

func (c *counter) observeRefused(o observe) {
	for _, g := range c.senders {
		for rule, n := range g.Stats.StatesRefused.All(c.ruleNames()) {
			o(int64(n), gatewayAttr(g), attribute.String("rule", rule))
		}
	}
}

// groups in the newest open bucket.
func (l *ledger) groups() int64 {
	var newest *bucket
	for _, b := range l.open() {
		if newest == nil || b.minute > newest.minute {
			newest = b
		}
	}
	if newest == nil {
		return 0
	}
	return int64(newest.states.Load())
}

// shared drops from telemetry what speaks of one signal or pipeline: the counter belongs to all that name the processor.
func shared(set component.TelemetrySettings) component.TelemetrySettings {
	dropped := []string{"otelcol.signal", "otelcol.pipeline.id"}
	set.Logger = set.Logger.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		if injected, ok := core.(interface {
			DropInjectedAttributes(dropped ...string) zapcore.Core
		}); ok {
			return injected.DropInjectedAttributes(dropped...)
		}
		return core
	}))
	if injected, ok := set.MeterProvider.(interface {
		DropInjectedAttributes(dropped ...string) metric.MeterProvider
	}); ok {
		set.MeterProvider = injected.DropInjectedAttributes(dropped...)
	}
	return set
}
