package eventsreceiver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receiverhelper"
	"go.uber.org/zap"

	"github.com/otel-topk/collector/receiver/eventsreceiver/internal/metadata"
)

// events listens, and sends on what it takes.
type events struct {
	cfg       *Config
	set       receiver.Settings
	next      consumer.Logs
	reported  *receiverhelper.ObsReport
	telemetry *metadata.TelemetryBuilder
	server    *http.Server
	serving   sync.WaitGroup
	gate      gate
	budget    budget

	connections atomic.Int64
	refusing    atomic.Value // string: the reason for which the pipeline refused events the last time; empty: it took them
}

// grace is how long requests may take to end after the receiver shall.
const grace = 5 * time.Second

func newEvents(cfg *Config, set receiver.Settings, next consumer.Logs) (*events, error) {
	reported, err := receiverhelper.NewObsReport(receiverhelper.ObsReportSettings{ReceiverID: set.ID, Transport: "http", ReceiverCreateSettings: set})
	if err != nil {
		return nil, err
	}
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	return &events{cfg: cfg, set: set, next: next, reported: reported, telemetry: telemetry, budget: budget{most: cfg.Memory}}, nil
}

// Start listens.
func (e *events) Start(ctx context.Context, host component.Host) error {
	server, err := e.cfg.ServerConfig.ToServer(ctx, host.GetExtensions(), e.set.TelemetrySettings, e, confighttp.WithErrorHandler(e.failed))
	if err != nil {
		return err
	}
	listener, err := e.cfg.ServerConfig.ToListener(ctx)
	if err != nil {
		return fmt.Errorf("endpoint: %w", err)
	}
	e.limit(server)
	e.server = server
	e.set.Logger.Info("Taking events", zap.Stringer("endpoint", listener.Addr()), zap.Int64("memory_bound_bytes", e.cfg.memoryBound()))
	e.serving.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			componentstatus.ReportStatus(host, componentstatus.NewFatalErrorEvent(err))
		}
	})
	return nil
}

// Shutdown lets requests end for 5 seconds, or until ctx does, then cuts them off. When it returns, nothing is sent on any more.
func (e *events) Shutdown(ctx context.Context) error {
	defer e.telemetry.Shutdown()
	if e.server == nil {
		return nil
	}
	graceful, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	var err error
	if e.server.Shutdown(graceful) != nil {
		e.set.Logger.Warn("Requests did not end in time, and are cut off without an answer")
		err = errors.Join(ctx.Err(), e.server.Close())
	}
	e.gate.close()
	e.serving.Wait()
	return err
}
