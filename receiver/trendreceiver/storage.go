package trendreceiver

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"

	"github.com/otel-topk/collector/internal/depot"
)

// storage is where what was answered outlasts the process, as a board's Shelf. What the board sets and deletes is staged, and
// goes to the depot at once when the board is unlocked: a commit that another request asks for never writes half a fold.
type storage struct {
	depot     *depot.Depot
	staged    depot.Change // guarded as the board is
	unstaged  error        // of a value that cannot be stored, until apply
	telemetry *telemetry
	report    func(*componentstatus.Event)

	mu      sync.Mutex
	failing bool
	failed  time.Time // when it was last tried in vain
}

// tryAgain is how long a storage that failed is left alone: each try writes all that was set since.
const tryAgain = time.Second

var errFailing = errors.New("the storage failed less than a second ago")

// openStorage returns nil where none is configured, and where the configured one cannot be opened: this is told, and the
// receiver works as without. An error is one of the configuration.
func (t *trend) openStorage(ctx context.Context, host component.Host) (*storage, error) {
	if t.cfg.Storage == nil {
		return nil, nil
	}
	d, err := depot.Connect(ctx, host, *t.cfg.Storage, component.KindReceiver, t.set.ID)
	var misconfigured *depot.MisconfiguredError
	switch {
	case errors.As(err, &misconfigured):
		return nil, err
	case err != nil:
		t.withoutStorage(err)
		return nil, nil
	}
	return &storage{depot: d, telemetry: t.telemetry, report: t.report}, nil
}

// withoutStorage tells that the storage is not used until the next start.
func (t *trend) withoutStorage(err error) {
	t.telemetry.storageClosed(err)
	t.report(componentstatus.NewRecoverableErrorEvent(err))
}

// Get a value; what was staged is seen.
func (s *storage) Get(key string) ([]byte, error) {
	if value, ok := s.staged.Get(key); ok {
		return value, nil
	}
	return s.depot.Get(context.Background(), key)
}

// Set a value when the board is unlocked.
func (s *storage) Set(key string, value []byte) {
	if err := s.staged.Set(key, value); err != nil && s.unstaged == nil {
		s.unstaged = err
	}
}

// Delete a value when the board is unlocked.
func (s *storage) Delete(key string) { s.staged.Delete(key) }

// SetAside moves a value that the board can make nothing of to where it does no harm.
func (s *storage) SetAside(key string, value []byte) { s.depot.SetAside(key, value) }

// apply hands what was staged to the depot. An error is of a value outside of its limits; the others are stored.
func (s *storage) apply() error {
	if s == nil {
		return nil
	}
	s.hand()
	err := s.unstaged
	s.unstaged = nil
	return err
}

// hand what was staged so far to the depot.
func (s *storage) hand() {
	if s != nil {
		s.depot.Apply(&s.staged)
	}
}

// commit returns when all that the board stored is durable; staging is what apply said of it. What an error left out is written
// by a later commit.
func (s *storage) commit(ctx context.Context, staging error) error {
	if s == nil {
		return nil
	}
	if s.rests() {
		return errFailing
	}
	began := time.Now()
	err := errors.Join(staging, s.depot.Commit(ctx))
	if err != nil && ctx.Err() != nil {
		return err // nobody waits for it, and it says nothing of the storage
	}
	s.telemetry.committed(ctx, time.Since(began), err)
	s.tell(err)
	return err
}

// rests says whether it is too soon to try again.
func (s *storage) rests() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failing && time.Since(s.failed) < tryAgain
}

// tell how a commit went: when failing begins and when it ends.
func (s *storage) tell(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.failing
	s.failing = err != nil
	if s.failing {
		s.failed = time.Now()
	}
	if s.failing == before {
		return
	}
	s.telemetry.storing(err)
	if s.failing {
		s.report(componentstatus.NewRecoverableErrorEvent(err))
	} else {
		s.report(componentstatus.NewEvent(componentstatus.StatusOK))
	}
}

// up says whether what is set becomes durable.
func (s *storage) up() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.failing
}

// damaged is how many values were set aside.
func (s *storage) damaged() uint64 {
	if s == nil {
		return 0
	}
	return s.depot.Damaged()
}

func (s *storage) close(ctx context.Context) error {
	if s == nil {
		return nil
	}
	return s.depot.Close(ctx)
}
