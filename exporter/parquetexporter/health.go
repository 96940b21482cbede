package parquetexporter

import (
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.uber.org/zap"
)

// calm is how long no request must have been refused before all is well again.
const calm = 10 * time.Second

// health is what the status of the exporters says: whether requests are taken, and whether the archive takes files. A change is
// reported and logged, once.
type health struct {
	logger *zap.Logger

	mu        sync.Mutex
	hosts     []component.Host // of all pipelines
	archiving error            // why the archive takes no files; nil: it does
	taking    error            // why requests are refused; nil: they are not
	refusedAt time.Time
	tookOne   bool // since a request was refused
	reported  bool
}

func newHealth(logger *zap.Logger) *health { return &health{logger: logger} }

// attend to the status of one more pipeline's exporter.
func (h *health) attend(host component.Host) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hosts = append(h.hosts, host)
	if h.reported {
		componentstatus.ReportStatus(host, h.event())
	}
}

func (h *health) event() *componentstatus.Event {
	if err := errors.Join(h.taking, h.archiving); err != nil {
		return componentstatus.NewRecoverableErrorEvent(err)
	}
	return componentstatus.NewEvent(componentstatus.StatusOK)
}

// report to all pipelines. Called with mu held.
func (h *health) report() {
	h.reported = true
	for _, host := range h.hosts {
		componentstatus.ReportStatus(host, h.event())
	}
}

// refused is told of each request that was.
func (h *health) refused(now time.Time, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refusedAt, h.tookOne = now, false
	if h.taking == nil {
		h.taking = err
		h.logger.Error("Requests are refused: what comes cannot be kept", zap.Error(err))
		h.report()
	}
}

// taken is told of each request that was.
func (h *health) taken() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tookOne = true
}

// recover if requests have been taken again for a while.
func (h *health) recover(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.taking != nil && h.tookOne && now.Sub(h.refusedAt) >= calm {
		h.taking = nil
		h.logger.Info("Requests are taken again")
		h.report()
	}
}

// archived is told how each conversion ended.
func (h *health) archived(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	failed := h.archiving != nil
	h.archiving = err
	switch {
	case err != nil && !failed:
		h.logger.Error("The archive takes no files: segments wait, and it is tried again", zap.Error(err))
		h.report()
	case err == nil && failed:
		h.logger.Info("The archive takes files again")
		h.report()
	}
}

// down says whether the archive took no file when it was tried last.
func (h *health) down() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.archiving != nil
}
