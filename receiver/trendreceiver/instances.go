package trendreceiver

import (
	"context"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/receiver"
)

// instances holds the one receiver of each configuration until it is shut down.
type instances struct {
	mu       sync.Mutex
	byConfig map[*Config]*instance
}

// join gives the receiver of cfg one more pipeline, which connect tells it of.
func (is *instances) join(cfg *Config, set receiver.Settings, connect func(*trend)) (*instance, error) {
	is.mu.Lock()
	defer is.mu.Unlock()
	in, ok := is.byConfig[cfg]
	if !ok {
		t, err := newTrend(cfg, set)
		if err != nil {
			return nil, err
		}
		in = &instance{trend: t, leave: func() { is.leave(cfg) }}
		if is.byConfig == nil {
			is.byConfig = map[*Config]*instance{}
		}
		is.byConfig[cfg] = in
	}
	in.pipelines++
	connect(in.trend)
	return in, nil
}

func (is *instances) leave(cfg *Config) {
	is.mu.Lock()
	defer is.mu.Unlock()
	delete(is.byConfig, cfg)
}

// instance starts its receiver when the last of its pipelines is ready to be sent to, and stops it before the first is gone.
type instance struct {
	trend     *trend
	leave     func()
	mu        sync.Mutex
	pipelines int
	started   int
	stopped   bool
}

// Start is called once for each pipeline.
func (in *instance) Start(ctx context.Context, host component.Host) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.trend.hosts = append(in.trend.hosts, host)
	in.started++
	if in.started != in.pipelines {
		return nil
	}
	return in.trend.Start(ctx, host)
}

// Shutdown is called once for each pipeline.
func (in *instance) Shutdown(ctx context.Context) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.stopped {
		return nil
	}
	in.stopped = true
	in.leave()
	return in.trend.Shutdown(ctx)
}
