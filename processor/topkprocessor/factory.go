package topkprocessor

import (
	"context"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pipeline"
	"go.opentelemetry.io/collector/processor"

	"github.com/otel-topk/collector/internal/uplink"
	"github.com/otel-topk/collector/processor/topkprocessor/internal/metadata"
)

// factory keeps one counter for each configuration: a processor named in several pipelines counts into one place.
type factory struct {
	connect  uplink.Connect
	mu       sync.Mutex
	counters map[*Config]*use
}

// use of a counter by the processors that were made and not shut down.
type use struct {
	counter *counter
	users   int
}

// NewFactory makes the factory of the topk processor.
func NewFactory() processor.Factory { return newFactory(uplink.ConnectOTLP) }

func newFactory(connect uplink.Connect) processor.Factory {
	f := &factory{connect: connect, counters: map[*Config]*use{}}
	return processor.NewFactory(
		metadata.Type,
		createDefaultConfig,
		processor.WithLogs(f.createLogs, metadata.LogsStability),
		processor.WithTraces(f.createTraces, metadata.TracesStability),
		processor.WithMetrics(f.createMetrics, metadata.MetricsStability),
	)
}

func (f *factory) createLogs(_ context.Context, set processor.Settings, cfg component.Config, next consumer.Logs) (processor.Logs, error) {
	i, err := f.counter(set, cfg, pipeline.SignalLogs)
	if err != nil {
		return nil, err
	}
	return &logs{instance: i, next: next}, nil
}

func (f *factory) createTraces(_ context.Context, set processor.Settings, cfg component.Config, next consumer.Traces) (processor.Traces, error) {
	i, err := f.counter(set, cfg, pipeline.SignalTraces)
	if err != nil {
		return nil, err
	}
	return &traces{instance: i, next: next}, nil
}

func (f *factory) createMetrics(_ context.Context, set processor.Settings, cfg component.Config, next consumer.Metrics) (processor.Metrics, error) {
	i, err := f.counter(set, cfg, pipeline.SignalMetrics)
	if err != nil {
		return nil, err
	}
	return &metrics{instance: i, next: next}, nil
}

// counter of cfg for one more pipeline of signal, and what its processor calls when it stops: it says whether it was the last.
func (f *factory) counter(set processor.Settings, cfg component.Config, signal pipeline.Signal) (instance, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := cfg.(*Config)
	u, ok := f.counters[key]
	if !ok {
		c, err := newCounter(set, key, f.connect)
		if err != nil {
			return instance{}, err
		}
		u = &use{counter: c}
		f.counters[key] = u
	}
	u.users++
	u.counter.signals = append(u.counter.signals, signal)
	released := false
	release := func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		if released {
			return false
		}
		released = true
		if u.users--; u.users > 0 {
			return false
		}
		delete(f.counters, key)
		return true
	}
	return instance{counter: u.counter, changes: u.counter.partition.changes(signal), release: release}, nil
}
