package topkprocessor

import (
	"cmp"
	"slices"
	"sync"

	"github.com/otel-topk/collector/internal/wire"
)

// finalOverhead is what a pending final state takes in memory beside its summary, about.
const finalOverhead = 512

// final is the complete state of a closed bucket's seat, of this process or of one before.
type final struct {
	id       uint64 // grows in the order of closing
	state    wire.State
	overhead int    // as of a ledger
	packed   []byte // the encoded summary under zstd
	size     int    // of the encoded summary
	expires  int64  // wall clock, Unix nanoseconds
	waiting  int    // gateways that have not answered
	sending  int    // gateways it is in flight to
	stored   bool   // it is in storage, or on its way there
}

func (f *final) bytes() int64 { return int64(len(f.packed)+len(f.state.Group.Name)) + finalOverhead }

// Reasons for which finals are dropped.
const (
	droppedPending  = iota // the memory was needed for newer ones
	droppedRetain          // not answered in time
	droppedRefused         // refused for good
	droppedShutdown        // not answered when the processor stopped
	dropReasons
)

// dropped counts finals by gateway, reason and rule.
type dropped [][dropReasons]ruleCounts

func (d dropped) note(gateway, reason int, f *final) { d[gateway][reason].add(f.state.Rule.Name, 1) }

func (d dropped) of(gateway int, rule string) (sum uint64) {
	for reason := range d[gateway] {
		sum += d[gateway][reason].of(rule)
	}
	return sum
}

// pending holds the final states that some gateway has not answered, each once, in at most limit bytes.
type pending struct {
	limit   int64
	dropped dropped
	unstore func(*final) // called with one that is stored and that no gateway waits for any more

	mu     sync.Mutex
	id     uint64
	bytes  int64
	queues []queue // by gateway
}

// queue of one gateway, oldest first. The inflight from the one at from on are being sent.
type queue struct {
	finals         []*final
	from, inflight int
}

func newPending(limit int64, gateways int, unstore func(*final)) *pending {
	return &pending{limit: limit, queues: make([]queue, gateways), dropped: make(dropped, gateways), unstore: unstore}
}

// number is the next id. Finals are added in the order of their numbers.
func (p *pending) number() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.id++
	return p.id
}

// add f for every gateway, and drop the oldest where there is no room.
func (p *pending) add(f *final) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f.waiting = len(p.queues)
	p.bytes += f.bytes()
	for i := range p.queues {
		p.queues[i].finals = append(p.queues[i].finals, f)
	}
	for p.bytes > p.limit && p.dropOldest() {
	}
}

// dropOldest that is not in flight to any gateway, for all that wait for it.
func (p *pending) dropOldest() bool {
	var oldest *final
	for i := range p.queues {
		q := &p.queues[i]
		for _, f := range q.finals {
			if f.sending == 0 {
				if oldest == nil || f.id < oldest.id {
					oldest = f
				}
				break
			}
		}
	}
	if oldest == nil {
		return false
	}
	for i := range p.queues {
		if p.queues[i].remove(oldest.id) {
			p.done(oldest)
			p.dropped.note(i, droppedPending, oldest)
		}
	}
	return true
}

// unstored finals, oldest first.
func (p *pending) unstored() []*final {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []*final
	for i := range p.queues {
		for _, f := range p.queues[i].finals {
			if !f.stored {
				all = append(all, f)
			}
		}
	}
	slices.SortFunc(all, func(a, b *final) int { return cmp.Compare(a.id, b.id) })
	return slices.Compact(all)
}

// store those of finals for which some gateway waits: set says of each whether it can be, apply stores all that are set.
func (p *pending) store(finals []*final, set func(i int) bool, apply func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, f := range finals {
		f.stored = f.waiting > 0 && set(i)
	}
	apply()
}

// forget that finals were stored, by unset.
func (p *pending) forget(finals []*final, unset func(*final)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range finals {
		f.stored = false
		unset(f)
	}
}

// holds says whether a gateway has not answered some final of an epoch.
func (p *pending) holds(gateway int, epoch wire.Epoch) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.queues[gateway].finals, func(f *final) bool { return f.state.Epoch == epoch })
}

// take the oldest finals of a gateway that come after a number, up to size bytes of encoded summaries and always one, into flight.
func (p *pending) take(gateway int, after uint64, size int) []*final {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := &p.queues[gateway]
	q.from, _ = q.find(after + 1)
	rest := q.finals[q.from:]
	n := 0
	for ; n < len(rest); n++ {
		if size -= rest[n].size; size < 0 && n > 0 {
			break
		}
	}
	for _, f := range rest[:n] {
		f.sending++
	}
	q.inflight = n
	return slices.Clone(rest[:n])
}

// settle the first n of those in flight, which were answered; the others are no longer in flight.
func (p *pending) settle(gateway, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := &p.queues[gateway]
	flight := slices.Clone(q.finals[q.from : q.from+q.inflight])
	q.inflight = 0
	for i, f := range flight {
		f.sending--
		if i < n {
			q.remove(f.id)
			p.done(f)
		}
	}
}

// expire what was not answered in time.
func (p *pending) expire(now int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.queues {
		q := &p.queues[i]
		for f := q.oldest(); f != nil && f.expires <= now; f = q.oldest() {
			q.remove(f.id)
			p.done(f)
			p.dropped.note(i, droppedRetain, f)
		}
	}
}

// abandon all, and say how many are lost. Where the storage is durable, those in it are not.
func (p *pending) abandon(durable bool) (lost, stored int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.queues {
		q := &p.queues[i]
		for _, f := range q.finals {
			if durable && f.stored {
				stored++
				continue
			}
			lost++
			p.dropped.note(i, droppedShutdown, f)
		}
		*q = queue{}
	}
	p.bytes = 0
	return lost, stored
}

// done with f for one gateway.
func (p *pending) done(f *final) {
	if f.waiting--; f.waiting > 0 {
		return
	}
	p.bytes -= f.bytes()
	if f.stored {
		p.unstore(f)
	}
}

// count of finals that a gateway has not answered, and the bytes held for all.
func (p *pending) count(gateway int) (n int, bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.queues[gateway].finals), p.bytes
}

// oldest final that is not in flight; nil: there is none.
func (q *queue) oldest() *final {
	at := 0
	if q.from == 0 {
		at = q.inflight
	}
	if at == len(q.finals) {
		return nil
	}
	return q.finals[at]
}

// find the place of the first final with this id or a later one.
func (q *queue) find(id uint64) (at int, found bool) {
	return slices.BinarySearchFunc(q.finals, id, func(f *final, id uint64) int { return cmp.Compare(f.id, id) })
}

// remove the final with this id; those before it move up, for they are few.
func (q *queue) remove(id uint64) bool {
	at, found := q.find(id)
	if !found {
		return false
	}
	copy(q.finals[1:at+1], q.finals[:at])
	q.finals[0] = nil
	q.finals = q.finals[1:]
	if at < q.from {
		q.from--
	}
	return true
}
