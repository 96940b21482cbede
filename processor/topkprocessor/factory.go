package topkprocessor

import (
	"context"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pipeline"
	"go.opentelemetry.io/collector/processor"

	"github.com/otel-topk/collector/processor/topkprocessor/internal/metadata"
)

// factory keeps one counter for each configuration: a processor named in several pipelines counts into one place.
type factory struct {
	connect  connect
	mu       sync.Mutex
	counters map[*Config]*counter
}

// NewFactory makes the factory of the topk processor.
func NewFactory() processor.Factory { return newFactory(connectOTLP) }

func newFactory(connect connect) processor.Factory {
	f := &factory{connect: connect, counters: map[*Config]*counter{}}
	return processor.NewFactory(
		metadata.Type,
		createDefaultConfig,
		processor.WithLogs(f.createLogs, metadata.LogsStability),
		processor.WithTraces(f.createTraces, metadata.TracesStability),
		processor.WithMetrics(f.createMetrics, metadata.MetricsStability),
	)
}

func (f *factory) createLogs(_ context.Context, set processor.Settings, cfg component.Config, next consumer.Logs) (processor.Logs, error) {
	c, err := f.counter(set, cfg, pipeline.SignalLogs)
	if err != nil {
		return nil, err
	}
	return &logs{instance: instance{counter: c}, next: next}, nil
}

func (f *factory) createTraces(_ context.Context, set processor.Settings, cfg component.Config, next consumer.Traces) (processor.Traces, error) {
	c, err := f.counter(set, cfg, pipeline.SignalTraces)
	if err != nil {
		return nil, err
	}
	return &traces{instance: instance{counter: c}, next: next}, nil
}

func (f *factory) createMetrics(_ context.Context, set processor.Settings, cfg component.Config, next consumer.Metrics) (processor.Metrics, error) {
	c, err := f.counter(set, cfg, pipeline.SignalMetrics)
	if err != nil {
		return nil, err
	}
	return &metrics{instance: instance{counter: c}, next: next}, nil
}

// counter of cfg for one more pipeline of signal. The last Shutdown forgets it.
func (f *factory) counter(set processor.Settings, cfg component.Config, signal pipeline.Signal) (*counter, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := cfg.(*Config)
	c, ok := f.counters[key]
	if !ok {
		var err error
		if c, err = newCounter(set, key, f.connect); err != nil {
			return nil, err
		}
		c.forget = func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			delete(f.counters, key)
		}
		f.counters[key] = c
	}
	c.created(signal)
	return c, nil
}
