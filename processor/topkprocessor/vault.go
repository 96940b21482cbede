package topkprocessor

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.uber.org/zap"

	"github.com/otel-topk/collector/internal/depot"
)

// vault keeps what was counted in a storage: requests in a journal, before they count; now and then a checkpoint of all open
// states, which shortens the journal; final states until they are answered. FORMAT.md has the bytes.
//
// Who counts holds gate for reading, from before its request is in the journal until it has counted. So whoever holds it for
// writing finds counted exactly what is in the journal.
//
// After a write that failed nothing is written on the way of requests: they count in memory until a checkpoint holds all again.
type vault struct {
	counter *counter
	id      component.ID // of the processor
	depot   *depot.Depot // nil: not open
	decoder *zstd.Decoder

	gate      sync.RWMutex
	recording atomic.Bool   // what is counted is in the storage
	sequence  atomic.Uint64 // the last number of an entry or a checkpoint
	size      atomic.Int64  // bytes of entries since the last checkpoint
	full      chan struct{} // the journal is to be shortened
	entries   sync.Pool

	opened   atomic.Bool
	failures atomic.Uint64
	status   sync.Mutex // guards what follows
	up       bool
	hosts    []component.Host       // of all pipelines
	event    *componentstatus.Event // as last reported; nil: none

	one    sync.Mutex   // one checkpoint at a time; guards what follows
	tried  time.Time    // the last checkpoint
	number uint64       // of the last checkpoint
	spoilt int          // parts of the next one that may be stored, of tries that failed
	kept   []checkpoint // the two newest, older first
	relics []string     // keys of the process before, which the first checkpoint replaces

	old    sync.Mutex // guards what follows
	oldest uint64     // the first entry that may be stored
	needed uint64     // the first entry that is needed
}

// newVault returns nil where no storage is configured.
func newVault(c *counter, id component.ID) (*vault, error) {
	if c.cfg.Storage == nil {
		return nil, nil
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPart))
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	return &vault{counter: c, id: id, decoder: decoder, full: make(chan struct{}, 1)}, nil
}

// open the storage and begin with what is in it. An error is one of the configuration; a storage that cannot be opened is
// told, and all goes on as without.
func (v *vault) open(ctx context.Context, host component.Host) error {
	if v == nil {
		return nil
	}
	d, err := depot.Connect(ctx, host, *v.counter.cfg.Storage, component.KindProcessor, v.id)
	var misconfigured *depot.MisconfiguredError
	if errors.As(err, &misconfigured) {
		return err
	}
	if err == nil {
		v.depot = d
		if err = v.restore(ctx); err != nil {
			err = errors.Join(err, d.Close(ctx))
			v.depot = nil
		}
	}
	if err != nil {
		v.counter.logger.Error("The storage cannot be used: what is counted would not outlast a crash", zap.Error(err))
		v.status.Lock()
		defer v.status.Unlock()
		v.report(componentstatus.NewRecoverableErrorEvent(err))
		return nil
	}
	v.up = true
	v.opened.Store(true)
	for range 2 {
		v.checkpoint()
	}
	return nil
}

// commit returns when all that was set before is durable, or storing has failed.
func (v *vault) commit() {
	if v == nil || !v.recording.Load() {
		return
	}
	if err := v.depot.Commit(context.Background()); err != nil {
		v.fail(err)
	}
}

// fail notes that something was not stored.
func (v *vault) fail(err error) {
	v.status.Lock()
	defer v.status.Unlock()
	v.failures.Add(1)
	v.recording.Store(false)
	if v.up {
		v.up = false
		v.counter.logger.Error("Storing fails: counting goes on in memory, and would not outlast a crash", zap.Error(err))
		v.report(componentstatus.NewRecoverableErrorEvent(err))
	}
}

// hold notes that all is stored, unless something failed since there were that many failures.
func (v *vault) hold(failures uint64) {
	v.status.Lock()
	defer v.status.Unlock()
	if !v.up && v.failures.Load() == failures {
		v.up = true
		v.counter.logger.Info("Storing works again")
		v.report(componentstatus.NewEvent(componentstatus.StatusOK))
	}
}

// attend to the status of one more pipeline's processor.
func (v *vault) attend(host component.Host) {
	if v == nil {
		return
	}
	v.status.Lock()
	defer v.status.Unlock()
	v.hosts = append(v.hosts, host)
	if v.event != nil {
		componentstatus.ReportStatus(host, v.event)
	}
}

// report to all pipelines. Called with status held.
func (v *vault) report(e *componentstatus.Event) {
	v.event = e
	for _, host := range v.hosts {
		componentstatus.ReportStatus(host, e)
	}
}

// isUp says whether what is counted is stored.
func (v *vault) isUp() bool {
	v.status.Lock()
	defer v.status.Unlock()
	return v.up
}

// damaged is how many stored values were set aside.
func (v *vault) damaged() uint64 {
	if !v.opened.Load() {
		return 0
	}
	return v.depot.Damaged()
}

// settle stores what closed at the end; the next process has no entry to read.
func (v *vault) settle() {
	if v != nil && v.depot != nil {
		v.checkpoint()
	}
}

// close says whether all that was set is durable.
func (v *vault) close(ctx context.Context) (bool, error) {
	if v == nil || v.depot == nil {
		return false, nil
	}
	err := v.depot.Close(ctx)
	return err == nil && v.recording.Load(), err
}

// Keys.
const (
	journalKey    = "journal/"
	checkpointKey = "checkpoint/"
	finalKey      = "final/"
	floorKey      = "floor/"
)

// numbered key: the order of keys is that of the numbers.
func numbered(prefix string, n uint64) string { return fmt.Sprintf("%s%016x", prefix, n) }

// numberOf is the inverse of numbered.
func numberOf(prefix, key string) (n uint64, ok bool) {
	digits, ok := strings.CutPrefix(key, prefix)
	if !ok || len(digits) != 16 {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 16, 64)
	return n, err == nil
}
