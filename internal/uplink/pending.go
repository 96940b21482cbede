package uplink

import (
	"cmp"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/otel-topk/collector/internal/wire"
)

// finalOverhead is what a pending final state takes in memory beside its summary, about.
const finalOverhead = 512

// Final is a complete state, of this process or of one before.
type Final struct {
	ID       uint64     // grows in the order of closing
	State    wire.State // without Encoded
	Overhead int        // bytes of State beside its summary and its group, about
	Packed   []byte     // the encoded summary under zstd
	Size     int        // of the encoded summary
	Expires  int64      // wall clock, Unix nanoseconds
	Stored   bool       // it is in storage, or on its way there
	Held     bool       // it is not to be sent before Release, nor are those that come after it

	waiting int // gateways that have not answered
	sending int // gateways it is in flight to
}

// Unpack the encoded summary.
func (f *Final) Unpack(decoder *zstd.Decoder) ([]byte, error) {
	return decoder.DecodeAll(f.Packed, make([]byte, 0, f.Size))
}

func (f *Final) bytes() int64 { return int64(len(f.Packed)+len(f.State.Group.Name)) + finalOverhead }

// Reasons for which finals are dropped.
const (
	DroppedPending  = iota // the memory was needed for newer ones
	DroppedRetain          // not answered in time
	DroppedRefused         // refused for good
	DroppedShutdown        // not answered when the processor stopped
	DropReasons
)

// DropReason is the name of a reason in metrics.
func DropReason(reason int) string {
	return [DropReasons]string{DroppedPending: "pending", DroppedRetain: "retain", DroppedRefused: "refused", DroppedShutdown: "shutdown"}[reason]
}

// Dropped counts finals by gateway, reason and rule.
type Dropped [][DropReasons]RuleCounts

func (d Dropped) note(gateway, reason int, f *Final) { d[gateway][reason].add(f.State.Rule.Name, 1) }

// Of one rule, for one gateway.
func (d Dropped) Of(gateway int, rule string) (sum uint64) {
	for reason := range d[gateway] {
		sum += d[gateway][reason].Of(rule)
	}
	return sum
}

// Pending holds the final states that some gateway has not answered, each once, in at most limit bytes.
type Pending struct {
	Dropped Dropped

	limit   int64
	takes   func(gateway int, rule string) bool
	unstore func(*Final) // called with one that is stored and that no gateway waits for any more

	mu     sync.Mutex
	id     uint64
	bytes  int64
	queues []queue // by gateway
}

// queue of one gateway, oldest first. The inflight from the one at from on are being sent.
type queue struct {
	finals         []*Final
	from, inflight int
}

// MemoryBound is the most memory in bytes that senders to some gateways and their Pending of a limit take, where one state has at most
// a size: a request exists as states, as OTLP and compressed.
func MemoryBound(limit int64, gateways, size int) int64 {
	return limit + int64(gateways)*4*int64(max(MaxRequest, size))
}

// NewPending for some gateways, each of which takes some rules.
func NewPending(limit int64, gateways []Gateway, unstore func(*Final)) *Pending {
	return &Pending{
		limit: limit, queues: make([]queue, len(gateways)), Dropped: make(Dropped, len(gateways)), unstore: unstore,
		takes: func(gateway int, rule string) bool { return gateways[gateway].Takes(rule) },
	}
}

// Number is the next id. Finals are added in the order of their numbers.
func (p *Pending) Number() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.id++
	return p.id
}

// Add f for every gateway that takes its rule, and drop the oldest where there is no room.
func (p *Pending) Add(f *Final) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f.waiting = 0
	for i := range p.queues {
		if p.takes(i, f.State.Rule.Name) {
			p.queues[i].finals = append(p.queues[i].finals, f)
			f.waiting++
		}
	}
	if f.waiting == 0 { // of a rule of before, that no gateway is to get any more
		for i := range p.queues {
			p.Dropped.note(i, DroppedRefused, f)
		}
		if f.Stored {
			p.unstore(f)
		}
		return
	}
	p.bytes += f.bytes()
	for p.bytes > p.limit && p.dropOldest() {
	}
}

// dropOldest that is not in flight to any gateway, for all that wait for it.
func (p *Pending) dropOldest() bool {
	var oldest *Final
	for i := range p.queues {
		q := &p.queues[i]
		for _, f := range q.finals {
			if f.sending == 0 {
				if oldest == nil || f.ID < oldest.ID {
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
		if p.queues[i].remove(oldest.ID) {
			p.done(oldest)
			p.Dropped.note(i, DroppedPending, oldest)
		}
	}
	return true
}

// Unstored finals, oldest first.
func (p *Pending) Unstored() []*Final {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []*Final
	for i := range p.queues {
		for _, f := range p.queues[i].finals {
			if !f.Stored {
				all = append(all, f)
			}
		}
	}
	slices.SortFunc(all, func(a, b *Final) int { return cmp.Compare(a.ID, b.ID) })
	return slices.Compact(all)
}

// Store those of finals for which some gateway waits: set says of each whether it can be, apply stores all that are set.
func (p *Pending) Store(finals []*Final, set func(i int) bool, apply func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, f := range finals {
		f.Stored = f.waiting > 0 && set(i)
	}
	apply()
}

// Forget that finals were stored, by unset.
func (p *Pending) Forget(finals []*Final, unset func(*Final)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range finals {
		f.Stored = false
		unset(f)
	}
}

// Holds says whether a gateway has not answered some final of an epoch.
func (p *Pending) Holds(gateway int, epoch wire.Epoch) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.queues[gateway].finals, func(f *Final) bool { return f.State.Epoch == epoch })
}

// Resume with the finals of the process before, which are numbered: the next number comes after theirs.
func (p *Pending) Resume(f *Final) {
	p.mu.Lock()
	p.id = max(p.id, f.ID)
	p.mu.Unlock()
	p.Add(f)
}

// take the oldest finals of a gateway that come after a number, up to size bytes of encoded summaries and always one, into flight.
func (p *Pending) take(gateway int, after uint64, size int) []*Final {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := &p.queues[gateway]
	q.from, _ = q.find(after + 1)
	rest := q.finals[q.from:]
	n := 0
	for ; n < len(rest) && !rest[n].Held; n++ {
		if size -= rest[n].Size; size < 0 && n > 0 {
			break
		}
	}
	for _, f := range rest[:n] {
		f.sending++
	}
	q.inflight = n
	return slices.Clone(rest[:n])
}

// Release all that is held.
func (p *Pending) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.queues {
		for _, f := range p.queues[i].finals {
			f.Held = false
		}
	}
}

// settle the first n of those in flight, which were answered; the others are no longer in flight.
func (p *Pending) settle(gateway, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := &p.queues[gateway]
	flight := slices.Clone(q.finals[q.from : q.from+q.inflight])
	q.inflight = 0
	for i, f := range flight {
		f.sending--
		if i < n {
			q.remove(f.ID)
			p.done(f)
		}
	}
}

// Expire what was not answered in time.
func (p *Pending) Expire(now int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.queues {
		q := &p.queues[i]
		for f := q.oldest(); f != nil && f.Expires <= now; f = q.oldest() {
			q.remove(f.ID)
			p.done(f)
			p.Dropped.note(i, DroppedRetain, f)
		}
	}
}

// Abandon all, and say how many are lost. Where the storage is durable, those in it are not.
func (p *Pending) Abandon(durable bool) (lost, stored int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.queues {
		q := &p.queues[i]
		for _, f := range q.finals {
			if durable && f.Stored {
				stored++
				continue
			}
			lost++
			p.Dropped.note(i, DroppedShutdown, f)
		}
		*q = queue{}
	}
	p.bytes = 0
	return lost, stored
}

// done with f for one gateway.
func (p *Pending) done(f *Final) {
	if f.waiting--; f.waiting > 0 {
		return
	}
	p.bytes -= f.bytes()
	if f.Stored {
		p.unstore(f)
	}
}

// Count of finals that a gateway has not answered, and the bytes held for all.
func (p *Pending) Count(gateway int) (n int, bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.queues[gateway].finals), p.bytes
}

// Bytes held for all gateways.
func (p *Pending) Bytes() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bytes
}

// oldest final that is not in flight; nil: there is none.
func (q *queue) oldest() *Final {
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
	return slices.BinarySearchFunc(q.finals, id, func(f *Final, id uint64) int { return cmp.Compare(f.ID, id) })
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
