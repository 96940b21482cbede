package trendreceiver

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/receiver/trendreceiver/internal/metadata"
)

// listPipeline keeps what is published to a logs pipeline.
type listPipeline struct {
	mu       sync.Mutex
	err      error // its answer
	requests []plog.Logs
	came     chan struct{} // gets a value with each request that is taken
}

func newListPipeline() *listPipeline { return &listPipeline{came: make(chan struct{}, 1000)} }

func (*listPipeline) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: true}
}

func (p *listPipeline) ConsumeLogs(_ context.Context, ld plog.Logs) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return p.err
	}
	p.requests = append(p.requests, ld)
	p.came <- struct{}{}
	return nil
}

func (p *listPipeline) answer(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
}

// take returns what was published since the last call.
func (p *listPipeline) take(t testing.TB) (snapshots []*wire.Snapshot, summaries []*wire.WindowSummary) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, ld := range p.requests {
		for v, err := range wire.Publications(ld) {
			require.NoError(t, err)
			switch v := v.(type) {
			case *wire.Snapshot:
				snapshots = append(snapshots, v)
			case *wire.WindowSummary:
				summaries = append(summaries, v)
			}
		}
	}
	p.requests = nil
	return snapshots, summaries
}

// gaugePipeline keeps what is published to a metrics pipeline.
type gaugePipeline struct {
	err      error // its answer
	requests []pmetric.Metrics
}

func (*gaugePipeline) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (p *gaugePipeline) ConsumeMetrics(_ context.Context, md pmetric.Metrics) error {
	if p.err != nil {
		return p.err
	}
	p.requests = append(p.requests, md)
	return nil
}

// observed is a receiver's settings whose logs and metrics can be read.
type observed struct {
	receiver.Settings
	logs      *observer.ObservedLogs
	telemetry *componenttest.Telemetry
}

func observe(t testing.TB) observed {
	core, logs := observer.New(zap.InfoLevel)
	set := receivertest.NewNopSettings(metadata.Type)
	tel := componenttest.NewTelemetry()
	t.Cleanup(func() { require.NoError(t, tel.Shutdown(context.Background())) })
	set.TelemetrySettings = tel.NewTelemetrySettings()
	set.Logger = zap.New(core)
	return observed{set, logs, tel}
}

// messages are the lines logged so far.
func (o observed) messages() (lines []string) {
	for _, e := range o.logs.All() {
		lines = append(lines, e.Message)
	}
	return lines
}
