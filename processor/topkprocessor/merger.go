package topkprocessor

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/zap"

	"github.com/otel-topk/collector/internal/uplink"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

// merger brings the stripes together: of open buckets for each emission, of closed ones into final states.
type merger struct {
	counter *counter
	open    atomic.Pointer[[]*seat] // states of open buckets as last emitted; not changed once it is stored

	mu       sync.Mutex // one merge at a time
	sequence uint64
	encoded  int // bytes of open states encoded since the last emission
	merged   map[*ledger]*topk.Summary
	encoder  *zstd.Encoder
}

// openState is the newest encoding of a seat, as gateways send it.
type openState struct {
	sequence uint64
	groups   int
	newest   int64
	encoded  []byte
}

func newMerger(c *counter) (*merger, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(zstd.MinWindowSize<<8), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	m := &merger{counter: c, merged: map[*ledger]*topk.Summary{}, encoder: encoder}
	for _, l := range c.ledgers {
		m.merged[l] = l.empty.Clone()
	}
	m.open.Store(new([]*seat))
	return m, nil
}

// collect encodes the open states that changed and returns the size of those that changed since the last time.
func (m *merger) collect() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.encodeOpen()
	size := m.encoded
	m.encoded = 0
	return size
}

// prepare a cut, so that it takes less time.
func (m *merger) prepare() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.encodeOpen()
}

// cut encodes the open states that changed, and completes it with at while no bucket closes.
func (m *merger) cut(at func(*cut)) *cut {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.encodeOpen()
	open := *m.open.Load()
	c := &cut{states: make([]wire.State, len(open))}
	for i, s := range open {
		c.states[i] = m.counter.openState(s, s.open.Load())
	}
	at(c)
	return c
}

// encodeOpen encodes the open states that changed.
func (m *merger) encodeOpen() {
	var open []*seat
	for _, l := range m.counter.ledgers {
		for _, b := range l.open() {
			for _, s := range b.seats() {
				m.encoded += m.refresh(s)
				if s.open.Load() != nil {
					open = append(open, s)
				}
			}
		}
	}
	m.open.Store(&open)
}

// refresh the encoding of an open seat if it has counted since.
func (m *merger) refresh(s *seat) int {
	if !s.dirty.Swap(false) {
		return 0
	}
	merged := m.merged[s.bucket.ledger]
	merged.Reset()
	state := openState{groups: int(s.bucket.states.Load()), newest: s.newest.Load()}
	for i, st := range m.counter.stripes {
		st.mu.Lock()
		if cell := s.cells[i].summary; cell != nil {
			m.merge(merged, cell)
		}
		st.mu.Unlock()
	}
	var ok bool
	if state.encoded, ok = m.encode(merged); !ok {
		return 0
	}
	m.sequence++
	state.sequence = m.sequence
	s.open.Store(&state)
	return len(state.encoded)
}

// merge of cells of one ledger: they have one shape, and their seat kept the total in bounds.
func (m *merger) merge(to, cell *topk.Summary) {
	if err := to.Merge(cell); err != nil {
		m.counter.logger.DPanic("Stripes do not merge", zap.Error(err))
	}
}

func (m *merger) encode(merged *topk.Summary) ([]byte, bool) {
	encoded, err := merged.AppendBinary(nil)
	if err != nil {
		m.counter.logger.DPanic("A summary does not encode", zap.Error(err))
		return nil, false
	}
	return encoded, true
}

// closeDue makes final states of the buckets that have closed.
func (m *merger) closeDue(ledgers []*ledger, now int64) {
	for _, l := range ledgers {
		if l.due(now) {
			clock := l.at()
			m.close(l, now, func(minute window.Minute) bool { return clock.Closed(minute, now) })
		}
	}
}

// closeAll makes final states of all buckets.
func (m *merger) closeAll(now int64) {
	for _, l := range m.counter.ledgers {
		l.floor.Store(math.MaxInt64)
		m.close(l, now, func(window.Minute) bool { return true })
	}
}

func (m *merger) close(l *ledger, now int64, closed func(window.Minute) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range l.open() {
		if closed(b.minute) {
			raise(&l.floor, int64(b.minute)+1)
		}
	}
	floor := window.Minute(l.floor.Load())
	// From here on no stripe begins to count below floor; once each lock was held, none is still at it.
	for i, st := range m.counter.stripes {
		st.mu.Lock()
		for _, b := range l.open() {
			if b.minute < floor {
				b.unpin(i)
			}
		}
		st.mu.Unlock()
	}
	var finals []*uplink.Final
	for _, b := range l.take(floor, now) {
		finals = append(finals, m.finish(b, now)...)
	}
	m.counter.vault.keep(l, finals)
	for _, f := range finals {
		m.counter.pending.Add(f)
	}
	for _, g := range m.counter.senders {
		g.Wake()
	}
}

// finish a closed bucket: its set of states is complete.
func (m *merger) finish(b *bucket, now int64) (finals []*uplink.Final) {
	l := b.ledger
	merged := m.merged[l]
	for _, s := range b.seats() {
		merged.Reset()
		for i := range s.cells {
			if cell := s.cells[i].summary; cell != nil {
				m.merge(merged, cell)
			}
		}
		merged.Tighten()
		encoded, ok := m.encode(merged)
		if !ok {
			continue
		}
		m.sequence++
		finals = append(finals, &uplink.Final{
			ID: m.counter.pending.Number(),
			State: wire.State{
				Epoch:    m.counter.epoch,
				Shard:    m.counter.shard,
				Sequence: m.sequence,
				Final:    true,
				Rule:     l.definition,
				Minute:   b.minute,
				Group:    s.group,
				Groups:   int(b.states.Load()),
				Newest:   s.newest.Load(),
			},
			Overhead: l.overhead,
			Packed:   m.encoder.EncodeAll(encoded, nil),
			Size:     len(encoded),
			Expires:  m.counter.expiry(b, now),
		})
		s.open.Store(nil)
	}
	return finals
}
