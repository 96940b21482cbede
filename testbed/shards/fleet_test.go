package shards

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	_ "go.opentelemetry.io/collector/config/configgrpc" // has zstd
	"go.opentelemetry.io/collector/pdata/plog"
	"google.golang.org/grpc"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/oracle"
	"github.com/otel-topk/collector/topk"
)

const (
	streams        = 50               // that are counted; many shards count the same one
	lateness       = 2 * time.Minute  // after which a minute is final
	repeated       = 30 * time.Second // after which an open state is sent again that did not change
	distinct       = 1_000_000        // keys
	perMinuteOfDay = 2000             // records of each minute of the day before
)

// fleet is shards that are simulated: the states are real, of streams that several shards share.
type fleet struct {
	def     *rule.Definition
	rng     *rand.Rand
	zipf    *rand.Zipf
	streams []*stream
	shards  []*shard
	past    *shard // counted the day before
	took    []time.Duration
	mu      sync.Mutex
	next    time.Time // of a round
}

// stream of records, counted minute by minute.
type stream struct {
	open   map[window.Minute]*minute
	exact  *oracle.Counts
	shards uint64 // that count it
}

type minute struct {
	sum     *topk.Summary
	encoded []byte
	changed bool
	newest  int64
}

type shard struct {
	stream   *stream
	epoch    wire.Epoch
	sender   *collector.Sender
	sequence uint64
	repeat   time.Time
}

func newFleet(t *testing.T, address string, n int, seed uint64) *fleet {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	f := &fleet{
		def: &rule.Definition{
			Name: "tenants", Signals: []string{"logs"}, Key: []string{`log.attributes["tenant.id"]`}, Weight: "1", WeightScale: 1,
			K: 100, MaxKeyBytes: 256, Residents: 640, Shape: topk.Shape{Width: 2719, Depth: 5},
		},
		rng:  rng,
		zipf: rand.NewZipf(rng, 1.01, 1, distinct-1),
	}
	newShard := func(s *stream) *shard {
		sh := &shard{stream: s, sender: collector.NewSender(t, address, grpc.WithDefaultCallOptions(grpc.UseCompressor("zstd")))}
		binary.BigEndian.PutUint64(sh.epoch[:], rng.Uint64())
		sh.repeat = time.Now().Add(time.Duration(rng.Int64N(int64(repeated)))) // they were not all started at once
		s.shards++
		return sh
	}
	for range streams {
		f.streams = append(f.streams, &stream{open: map[window.Minute]*minute{}, exact: oracle.NewCounts()})
	}
	for i := range n {
		f.shards = append(f.shards, newShard(f.streams[i%streams]))
	}
	f.past = newShard(&stream{open: map[window.Minute]*minute{}, exact: oracle.NewCounts()})
	return f
}

// count records of a stream at one time.
func (f *fleet) count(t *testing.T, s *stream, at time.Time, records int) {
	t.Helper()
	start := window.MinuteOf(at.UnixNano())
	m := s.open[start]
	if m == nil {
		sum, err := topk.New(f.def.Residents, f.def.Shape)
		require.NoError(t, err)
		m = &minute{sum: sum}
		s.open[start] = m
	}
	for range records {
		key := fmt.Sprintf("tenant-%08x", f.zipf.Uint64()*2654435761&0xffffffff)
		require.NoError(t, m.sum.Add(key, 1))
		s.exact.Add(key, 1)
	}
	m.changed, m.newest = true, at.UnixNano()
}

func (f *fleet) encode(t *testing.T, s *stream) {
	t.Helper()
	for _, m := range s.open {
		if m.changed {
			var err error
			m.encoded, err = m.sum.AppendBinary(m.encoded[:0:0])
			require.NoError(t, err)
		}
	}
}

// send the states of a shard that final or due asks for, in one request.
func (f *fleet) send(t *testing.T, s *shard, now time.Time, final func(window.Minute) bool) error {
	ld := plog.NewLogs()
	all := !now.Before(s.repeat)
	if all {
		s.repeat = now.Add(repeated)
	}
	for at, m := range s.stream.open {
		if !m.changed && !all && !final(at) {
			continue
		}
		s.sequence++
		_, err := wire.AppendState(ld, &wire.State{
			Epoch: s.epoch, Shard: fmt.Sprintf("shard-%x", s.epoch[:4]), Sequence: s.sequence, Final: final(at), Rule: f.def, Minute: at,
			Groups: 1, Newest: m.newest, Encoded: m.encoded,
		})
		require.NoError(t, err)
	}
	wire.AppendReport(ld, &wire.Report{Epoch: s.epoch, Shard: fmt.Sprintf("shard-%x", s.epoch[:4]), Rules: []wire.RuleReport{{Rule: f.def.Name, Records: 1}}})
	if ld.LogRecordCount() == 0 {
		return nil
	}
	began := time.Now()
	err := s.sender.Logs(t.Context(), ld)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.took = append(f.took, time.Since(began))
	return err
}

// fillDay has one shard send 23 hours of minutes, which no window of a day leaves out.
func (f *fleet) fillDay(t *testing.T) {
	t.Helper()
	s := f.past.stream
	now := time.Now().Truncate(time.Minute)
	for m := 23 * 60; m > 0; m-- {
		f.count(t, s, now.Add(-time.Duration(m)*time.Minute), perMinuteOfDay)
		f.encode(t, s)
		require.NoError(t, f.send(t, f.past, now, func(window.Minute) bool { return true }))
		clear(s.open)
	}
	f.took = nil
}

// round has every shard count and send once, spread over the interval.
func (f *fleet) round(t *testing.T) {
	t.Helper()
	now := time.Now()
	closed := window.MinuteOf(now.Add(-lateness - time.Minute).UnixNano())
	for _, s := range f.streams {
		f.count(t, s, now, int(interval.Seconds()*float64(*rate)))
		f.encode(t, s)
	}
	f.sendAll(t, now, func(m window.Minute) bool { return m <= closed })
	for _, s := range f.streams {
		for at, m := range s.open {
			if m.changed = false; at <= closed {
				delete(s.open, at)
			}
		}
	}
}

// finish sends all that is open as final.
func (f *fleet) finish(t *testing.T) {
	t.Helper()
	f.sendAll(t, time.Now(), func(window.Minute) bool { return true })
}

func (f *fleet) sendAll(t *testing.T, now time.Time, final func(window.Minute) bool) {
	t.Helper()
	if f.next.Before(now) {
		f.next = now
	}
	errs := make([]error, len(f.shards))
	var sending sync.WaitGroup
	for i, s := range f.shards {
		time.Sleep(time.Until(f.next))
		f.next = f.next.Add(interval / time.Duration(len(f.shards)))
		sending.Go(func() { errs[i] = f.send(t, s, now, final) })
	}
	sending.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
}

func (f *fleet) exact() *oracle.Counts {
	all := oracle.NewCounts()
	for _, s := range append(f.streams, f.past.stream) {
		for range s.shards {
			all.Merge(s.exact)
		}
	}
	return all
}

func (f *fleet) total() uint64 { return f.exact().Total }

func (f *fleet) percentile(p int) time.Duration {
	return f.took[(len(f.took)-1)*p/100].Round(100 * time.Microsecond)
}
