package topkexporter

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/exporter"

	"github.com/otel-topk/collector/internal/depot"
)

// patience is how long a publication waits for the storage before it is served all the same.
const patience = 2 * time.Second

// errBusy is of a storage that has not finished an earlier write.
var errBusy = errors.New("an earlier write has not ended")

// How a storage fares, as /v1/status says it.
const (
	storageNone    = "none"
	storageUp      = "up"
	storageFailing = "failing"
)

// storage keeps lists and history: in a storage extension, or in memory.
type storage struct {
	depot     *depot.Depot
	durable   bool         // in an extension
	staged    depot.Change // guarded by who writes
	unstaged  error        // of a value that is outside of the limits of storage, until commit
	busy      chan struct{}
	writes    sync.WaitGroup
	failing   atomic.Bool
	damaged   uint64 // values, as was told
	telemetry *telemetry
	report    func(*componentstatus.Event)
}

// newMemory is a storage that ends with the process.
func newMemory() *storage {
	return &storage{depot: depot.New(depot.Memory{}), busy: make(chan struct{}, 1)}
}

// openStorage connects to the storage that is configured. Where it cannot be opened, this is told, and the exporter works as
// without. An error is one of the configuration.
func openStorage(ctx context.Context, config *Config, set exporter.Settings, host component.Host, t *telemetry) (*storage, error) {
	s := newMemory()
	s.telemetry = t
	s.report = func(e *componentstatus.Event) { componentstatus.ReportStatus(host, e) }
	if config.Storage == nil {
		return s, nil
	}
	d, err := depot.Connect(ctx, host, *config.Storage, component.KindExporter, set.ID)
	var misconfigured *depot.MisconfiguredError
	switch {
	case errors.As(err, &misconfigured):
		return nil, err
	case err != nil:
		s.giveUp(err)
		return s, nil
	}
	s.depot, s.durable = d, true
	return s, nil
}

// giveUp keeps everything in memory until the next start, and tells it.
func (s *storage) giveUp(err error) {
	s.depot, s.durable = depot.New(depot.Memory{}), false
	s.failing.Store(true)
	s.telemetry.storageClosed(err)
	s.report(componentstatus.NewRecoverableErrorEvent(err))
}

// set stages a value.
func (s *storage) set(key string, value []byte) {
	if err := s.staged.Set(key, value); err != nil {
		s.staged.Delete(key)
		s.unstaged = err
	}
}

// remove stages that there is no value.
func (s *storage) remove(key string) { s.staged.Delete(key) }

// apply shows what was staged to read.
func (s *storage) apply() { s.depot.Apply(&s.staged) }

// read the values under keys, nil where there is none, or none that is whole.
func (s *storage) read(ctx context.Context, keys []string) ([][]byte, error) {
	return s.depot.GetAll(ctx, keys)
}

// commit returns when what was applied is durable, or when it is clear that it will not be soon: the next commit writes what
// this one left. It says whether all is durable.
func (s *storage) commit(ctx context.Context) bool {
	err := errors.Join(s.unstaged, s.write(ctx))
	s.unstaged = nil
	if !s.durable {
		return true
	}
	s.telemetry.committed(ctx, err)
	if n := s.depot.Damaged(); n > s.damaged {
		s.damaged = n
		s.telemetry.damage(n)
	}
	if failing := err != nil; failing != s.failing.Swap(failing) {
		s.telemetry.storing(err)
		if failing {
			s.report(componentstatus.NewRecoverableErrorEvent(err))
		} else {
			s.report(componentstatus.NewEvent(componentstatus.StatusOK))
		}
	}
	return err == nil
}

// write commits, and waits no longer than patience for it.
func (s *storage) write(ctx context.Context) error {
	select {
	case s.busy <- struct{}{}:
	default:
		return errBusy
	}
	done := make(chan error, 1)
	s.writes.Go(func() {
		err := s.depot.Commit(context.WithoutCancel(ctx))
		<-s.busy
		done <- err
	})
	patient := time.NewTimer(patience)
	defer patient.Stop()
	select {
	case err := <-done:
		return err
	case <-patient.C:
		return errors.Join(context.DeadlineExceeded, errBusy)
	}
}

func (s *storage) state() string {
	switch {
	case s.failing.Load():
		return storageFailing
	case s.durable:
		return storageUp
	}
	return storageNone
}

// close writes what is left and closes the storage, unless ctx ends before.
func (s *storage) close(ctx context.Context) error {
	closed := make(chan error, 1)
	go func() {
		s.writes.Wait()
		closed <- s.depot.Close(ctx)
	}()
	select {
	case err := <-closed:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
