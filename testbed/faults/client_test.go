package faults

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/generator"
)

// workload of one client.
type workload struct {
	records  int           // a batch
	pause    time.Duration // between two batches
	lateness time.Duration // of the agent
	keyBytes int           // length of a tenant's name at least
	slots    int           // keys of the rule of batches
}

// client sends batches to one agent, each until it is answered, as a real one does.
type client struct {
	workload
	ledger *ledger
	sender *collector.Sender
	rng    *rand.Rand
	gen    *generator.Generator
	made   int
	name   string
}

func newClient(t *testing.T, address, name string, seed uint64, w workload, l *ledger) *client {
	t.Helper()
	gen, err := generator.New(generator.Config{Seed: seed, Keys: 500, Exponent: 1.01, Regions: 3, NameBytes: w.keyBytes})
	require.NoError(t, err)
	return &client{
		workload: w, ledger: l, rng: rand.New(rand.NewPCG(seed, 1)), gen: gen, name: name,
		sender: collector.NewPatientSender(t, address, grpc.WithStatsHandler(wire{})),
	}
}

// run sends until stop is closed; the last batch still gets its answer.
func (c *client) run(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(c.pause):
			b, ld := c.next()
			c.deliver(b, ld, stop)
		}
	}
}

// next makes a batch of now, or, one of four, of the minute before where that is still open.
func (c *client) next() (*batch, plog.Logs) {
	at := time.Now()
	if before := at.Add(-time.Minute); c.rng.IntN(4) == 0 && at.Add(closing).Before(c.closes(before)) {
		at = before
	}
	return c.batchOf(at)
}

// batchOf makes a batch of a time.
func (c *client) batchOf(at time.Time) (*batch, plog.Logs) {
	c.made++
	b := &batch{at: at, slot: c.name + "-" + strconv.Itoa(c.made%c.slots)}
	ld := c.gen.Logs(c.records, at, func(r generator.Record) { b.records = append(b.records, r) })
	for _, rl := range ld.ResourceLogs().All() {
		for _, lr := range rl.ScopeLogs().At(0).LogRecords().All() {
			putSlot(lr.Attributes(), b.slot)
		}
	}
	return b, ld
}

func putSlot(attributes pcommon.Map, slot string) { attributes.PutStr("slot", slot) }

// closes is when the agent may close the minute of a time.
func (c *client) closes(at time.Time) time.Time {
	return at.Truncate(time.Minute).Add(time.Minute + c.lateness)
}

const (
	grace   = 3 * time.Second        // that an answer may take
	closing = 200 * time.Millisecond // before the end of a minute's lateness: no batch is of it any more
)

// deliver sends until it is answered, or until its minute is about to close, or once more after stop.
func (c *client) deliver(b *batch, ld plog.Logs, stop <-chan struct{}) {
	for last := false; !last; {
		sent, err := c.call(ld)
		inTime := time.Now().Before(c.closes(b.at))
		c.ledger.attempted(b, sent, err == nil, inTime)
		if err == nil || !inTime {
			return
		}
		select {
		case <-stop:
			last = true
		default:
		}
	}
}

// call once, and say how often the request went out.
func (c *client) call(ld plog.Logs) (sent int, err error) {
	var n atomic.Int32
	ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), wire{}, &n), grace)
	defer cancel()
	err = c.sender.Logs(ctx, ld)
	return int(n.Load()), err
}

// wire counts how often a call went out: one that found no connection did not, one that gRPC repeats by itself did twice.
type wire struct{}

func (wire) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

func (wire) HandleRPC(ctx context.Context, s stats.RPCStats) {
	if _, ok := s.(*stats.OutHeader); ok {
		ctx.Value(wire{}).(*atomic.Int32).Add(1)
	}
}

func (wire) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (wire) HandleConn(context.Context, stats.ConnStats)                       {}

// load is clients that send at the same time.
type load struct {
	clients []*client
	stop    chan struct{}
	running sync.WaitGroup
}

func startLoad(clients []*client) *load {
	l := &load{clients: clients, stop: make(chan struct{})}
	for _, c := range clients {
		l.running.Go(func() { c.run(l.stop) })
	}
	return l
}

// end waits until every client has its last answer.
func (l *load) end() {
	close(l.stop)
	l.running.Wait()
}
