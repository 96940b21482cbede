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

// tendEvery is how often history is looked through, and a storage that fails is tried again.
const tendEvery = time.Minute

// topkExporter takes publications and serves them.
type topkExporter struct {
	config    *Config
	settings  exporter.Settings
	store     *store
	recounts  *recounting // nil: there are none
	sharing   *sharing    // nil: lists are not shared
	handler   *handler
	telemetry *telemetry
	server    *http.Server
	serving   sync.WaitGroup
	tending   chan struct{} // closed to end it; nil: nothing is opened
}

func newExporter(config *Config, settings exporter.Settings) (*topkExporter, error) {
	s := newStore(config)
	h := newHandler(s, config)
	t, err := newTelemetry(settings.TelemetrySettings, s, &h.requests)
	if err != nil {
		return nil, err
	}
	if h.recounts, err = newRecounting(config, settings.TelemetrySettings, s, t); err != nil {
		return nil, err
	}
	return &topkExporter{config: config, settings: settings, store: s, recounts: h.recounts, handler: h, telemetry: t}, nil
}

func (e *topkExporter) start(ctx context.Context, host component.Host) error {
	if err := e.open(ctx, host); err != nil {
		return err
	}
	if err := e.serve(ctx, host); err != nil {
		return errors.Join(err, e.close(ctx))
	}
	return nil
}

// open the storage and restore what it holds.
func (e *topkExporter) open(ctx context.Context, host component.Host) error {
	if err := e.recounts.open(ctx, e.store, host); err != nil {
		return err
	}
	if e.recounts != nil {
		e.telemetry.recountsOpened(e.recounts.config, e.handler.guard.open)
	}
	s, err := openStorage(ctx, e.config, e.settings, host, e.telemetry)
	if err != nil {
		return errors.Join(err, e.recounts.close())
	}
	e.store.use(s, e.config)
	if err := e.telemetry.observe(e.config, e.store); err != nil {
		return errors.Join(err, e.recounts.close(), s.close(ctx))
	}
	if s.durable {
		if found, err := e.store.restore(ctx, time.Now()); err == nil {
			e.recounts.restore(ctx, found, s.depot)
		} else {
			s.giveUp(errors.Join(err, s.close(ctx)))
			e.store.use(s, e.config)
		}
	}
	tending := make(chan struct{})
	e.tending = tending
	e.serving.Go(func() { e.tend(tending) })
	e.recounts.start()
	if err := e.share(ctx, host); err != nil {
		return errors.Join(err, e.close(ctx))
	}
	return nil
}

// tend what is kept until the end.
func (e *topkExporter) tend(end <-chan struct{}) {
	ticker := time.NewTicker(tendEvery)
	defer ticker.Stop()
	for {
		select {
		case <-end:
			return
		case now := <-ticker.C:
			e.store.tend(context.Background(), now)
			e.handler.checkDefinitions()
		}
	}
}

// close what open opened.
func (e *topkExporter) close(ctx context.Context) error {
	if e.tending == nil {
		return nil
	}
	err := e.sharing.close(ctx)
	close(e.tending)
	e.tending = nil
	e.serving.Wait()
	return errors.Join(err, e.recounts.stop(ctx), e.recounts.close(), e.store.storage.close(ctx))
}

func (e *topkExporter) serve(ctx context.Context, host component.Host) error {
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

// shutdown lets requests end until ctx does, then cuts them off, and writes what is left.
func (e *topkExporter) shutdown(ctx context.Context) error {
	e.telemetry.shutdown()
	var err error
	if e.server != nil {
		if err = e.server.Shutdown(ctx); err != nil {
			err = errors.Join(err, e.server.Close())
		}
	}
	return errors.Join(err, e.close(ctx))
}

// consumeLogs takes the publications of ld. Records that are none are refused for good, the others are taken all the same.
func (e *topkExporter) consumeLogs(ctx context.Context, ld plog.Logs) error {
	var (
		a       arrived
		refused []error
	)
	for publication, err := range wire.Publications(ld) {
		switch p := publication.(type) {
		case *wire.Snapshot:
			a.snapshots = append(a.snapshots, p)
		case *wire.WindowSummary:
			a.summaries = append(a.summaries, p)
		case *wire.Rollup:
			a.rollups = append(a.rollups, p)
		default:
			refused = append(refused, err)
		}
	}
	t := e.store.take(ctx, &a, time.Now())
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
