package topkprocessor

import (
	"fmt"
	"sync"

	"github.com/otel-topk/collector/internal/rule"
)

// findings are what the rules of one signal found in one request.
type findings struct {
	ledgers []*ledger
	batches []rule.Batch // one for each ledger
	pool    *sync.Pool
}

// keptRecords is the largest request whose memory is kept for the next one.
const keptRecords = 1 << 16

func (f *findings) err() error {
	for i := range f.batches {
		if err := f.batches[i].Err; err != nil {
			return fmt.Errorf("rule %q: %w", f.ledgers[i].definition.Name, err)
		}
	}
	return nil
}

// release lets go of the records and keeps the memory.
func (f *findings) release() {
	for i := range f.batches {
		if cap(f.batches[i].Keys) > keptRecords {
			return
		}
		f.batches[i].Reset()
	}
	f.pool.Put(f)
}

// finder hands out findings for the rules of one signal.
type finder struct {
	ledgers []*ledger
	pool    sync.Pool
}

func (f *finder) get() *findings {
	if found, ok := f.pool.Get().(*findings); ok {
		return found
	}
	found := &findings{ledgers: f.ledgers, batches: make([]rule.Batch, len(f.ledgers)), pool: &f.pool}
	for i, l := range f.ledgers {
		found.batches[i].KeepAttributes = l.stamped
	}
	return found
}
