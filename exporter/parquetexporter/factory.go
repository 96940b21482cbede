package parquetexporter

import (
	"context"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.uber.org/zap"

	"github.com/otel-topk/collector/exporter/parquetexporter/internal/metadata"
)

// factory keeps one archiver for each configuration: an exporter named in several pipelines has one folder of segments.
type factory struct {
	mu        sync.Mutex
	archivers map[*Config]*use
}

// use of an archiver by the exporters that were made and not shut down.
type use struct {
	archiver *archiver
	users    int
}

// NewFactory makes parquet exporters.
func NewFactory() exporter.Factory {
	f := &factory{archivers: map[*Config]*use{}}
	return exporter.NewFactory(metadata.Type, createDefaultConfig,
		exporter.WithLogs(f.createLogs, metadata.LogsStability),
		exporter.WithTraces(f.createTraces, metadata.TracesStability))
}

func (f *factory) createLogs(ctx context.Context, set exporter.Settings, cfg component.Config) (exporter.Logs, error) {
	a, shutdown, err := f.archiver(set, cfg.(*Config))
	if err != nil {
		return nil, err
	}
	return exporterhelper.NewLogs(ctx, quiet(set), cfg, a.consumeLogs, options(a, shutdown)...)
}

func (f *factory) createTraces(ctx context.Context, set exporter.Settings, cfg component.Config) (exporter.Traces, error) {
	a, shutdown, err := f.archiver(set, cfg.(*Config))
	if err != nil {
		return nil, err
	}
	return exporterhelper.NewTraces(ctx, quiet(set), cfg, a.consumeTraces, options(a, shutdown)...)
}

// options of both signals. There is no queue: the segments are one. And no retries: who is refused sends again.
func options(a *archiver, shutdown component.ShutdownFunc) []exporterhelper.Option {
	return []exporterhelper.Option{
		exporterhelper.WithCapabilities(consumer.Capabilities{MutatesData: false}),
		exporterhelper.WithTimeout(exporterhelper.TimeoutConfig{}),
		exporterhelper.WithStart(a.start),
		exporterhelper.WithShutdown(shutdown),
	}
}

// quiet keeps the helper from logging each request that is refused: the archiver says when that begins and ends.
func quiet(set exporter.Settings) exporter.Settings {
	set.Logger = set.Logger.WithOptions(zap.IncreaseLevel(zap.DPanicLevel))
	return set
}

// archiver of cfg for one more pipeline, and how its exporter stops: the last one stops the archiver.
func (f *factory) archiver(set exporter.Settings, cfg *Config) (*archiver, component.ShutdownFunc, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	u, ok := f.archivers[cfg]
	if !ok {
		a, err := newArchiver(cfg, set.TelemetrySettings)
		if err != nil {
			return nil, nil, err
		}
		u = &use{archiver: a}
		f.archivers[cfg] = u
	}
	u.users++
	var once sync.Once
	return u.archiver, func(ctx context.Context) (err error) {
		once.Do(func() {
			if f.release(cfg, u) {
				err = u.archiver.shutdown(ctx)
			}
		})
		return err
	}, nil
}

// release says whether that was the last user.
func (f *factory) release(cfg *Config, u *use) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if u.users--; u.users > 0 {
		return false
	}
	delete(f.archivers, cfg)
	return true
}
