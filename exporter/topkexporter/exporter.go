package topkexporter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.uber.org/zap"

	"github.com/otel-topk/collector/internal/wire"
)

// mostHeaderBytes is the longest request head that is read: room for a key of 64 KiB, escaped.
const mostHeaderBytes = 256 << 10

// topkExporter takes publications and serves them.
type topkExporter struct {
	config    *Config
	settings  exporter.Settings
	store     *store
	handler   *handler
	telemetry *telemetry
	server    *http.Server
	serving   sync.WaitGroup
}

func newExporter(config *Config, settings exporter.Settings) (*topkExporter, error) {
	s := newStore(config.MaxLists)
	h := newHandler(s)
	t, err := newTelemetry(settings.TelemetrySettings, s, &h.requests)
	if err != nil {
		return nil, err
	}
	return &topkExporter{config: config, settings: settings, store: s, handler: h, telemetry: t}, nil
}

func (e *topkExporter) start(ctx context.Context, host component.Host) error {
	server, err := e.config.ServerConfig.ToServer(ctx, host.GetExtensions(), e.settings.TelemetrySettings, e.handler,
		confighttp.WithErrorHandler(e.handler.refuse))
	if err != nil {
		return err
	}
	server.MaxHeaderBytes = mostHeaderBytes
	listener, err := e.config.ServerConfig.ToListener(ctx)
	if err != nil {
		return fmt.Errorf("endpoint: %w", err)
	}
	e.server = server
	e.settings.Logger.Info("Serving lists", zap.Stringer("endpoint", listener.Addr()))
	e.serving.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			componentstatus.ReportStatus(host, componentstatus.NewFatalErrorEvent(err))
		}
	})
	return nil
}

// shutdown lets requests end until ctx does, then cuts them off.
func (e *topkExporter) shutdown(ctx context.Context) error {
	e.telemetry.shutdown()
	if e.server == nil {
		return nil
	}
	err := e.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, e.server.Close())
	}
	e.serving.Wait()
	return err
}

// consumeLogs takes the publications of ld. Records that are none are refused for good, the others are taken all the same.
func (e *topkExporter) consumeLogs(ctx context.Context, ld plog.Logs) error {
	var (
		snapshots []*wire.Snapshot
		summaries []*wire.WindowSummary
		refused   []error
	)
	for publication, err := range wire.Publications(ld) {
		switch p := publication.(type) {
		case *wire.Snapshot:
			snapshots = append(snapshots, p)
		case *wire.WindowSummary:
			summaries = append(summaries, p)
		default:
			refused = append(refused, err)
		}
	}
	t := e.store.take(snapshots, summaries, time.Now())
	e.telemetry.record(ctx, t, int64(len(refused)))
	if len(refused) > 0 {
		return consumererror.NewPermanent(fmt.Errorf("%d of %d log records are no publication: %w",
			len(refused), ld.LogRecordCount(), errors.Join(firstDistinct(refused)...)))
	}
	return nil
}

// mostReasons is how many reasons an error names.
const mostReasons = 5

// firstDistinct leaves out repetitions, and what is too much to read.
func firstDistinct(all []error) []error {
	var first []error
	seen := map[string]bool{}
	for _, err := range all {
		if text := err.Error(); !seen[text] && len(first) < mostReasons {
			seen[text] = true
			first = append(first, err)
		}
	}
	return first
}
