package faults

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"google.golang.org/grpc"

	"github.com/otel-topk/collector/testbed/collector"
)

// scribe sends numbered records of some hours, each request until it is answered.
type scribe struct {
	client
	book  *book
	start time.Time
	hours int
}

func newScribe(t *testing.T, m *member, name string, seed uint64, b *book) *scribe {
	t.Helper()
	return &scribe{
		client: client{
			workload: workload{records: 60, pause: 10 * time.Millisecond}, name: name, rng: rand.New(rand.NewPCG(seed, 7)),
			sender: collector.NewPatientSender(t, m.Ports.Address(t, "otlp"), grpc.WithStatsHandler(wire{})),
		},
		book: b, start: time.Now().Add(-48 * time.Hour).Truncate(time.Hour), hours: 5,
	}
}

// scribes of one member, who write into one book.
func scribes(t *testing.T, m *member, seed uint64, b *book) []*scribe {
	t.Helper()
	var list []*scribe
	for i := range 3 {
		list = append(list, newScribe(t, m, fmt.Sprintf("%d-%d", seed, i), seed+uint64(i), b))
	}
	return list
}

// next makes a request and names it.
func (s *scribe) next() (name string, ld plog.Logs) {
	s.made++
	name = fmt.Sprintf("%s-%d", s.name, s.made)
	ld = plog.NewLogs()
	list := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for i := range s.records {
		record := list.AppendEmpty()
		at := s.start.Add(time.Duration(s.rng.Int64N(int64(s.hours) * int64(time.Hour))))
		record.SetTimestamp(pcommon.NewTimestampFromTime(at))
		record.Body().SetStr("a record of a test of faults")
		record.Attributes().PutStr("key", fmt.Sprintf("key-%d", s.rng.IntN(200)))
		record.Attributes().PutStr("request", name)
		record.Attributes().PutInt("number", int64(i))
	}
	return name, ld
}

// write one request until it is answered, or once more after stop.
func (s *scribe) write(stop <-chan struct{}) {
	name, ld := s.next()
	for last := false; !last; {
		sent, err := s.call(ld)
		s.book.attempted(name, s.records, sent, err == nil)
		if err == nil {
			return
		}
		select {
		case <-stop:
			last = true
		case <-time.After(s.pause):
		}
	}
}

// writing starts scribes; what is returned ends them, once each has its last answer.
func writing(list []*scribe) (end func()) {
	stop := make(chan struct{})
	var running sync.WaitGroup
	for _, s := range list {
		running.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(s.pause):
					s.write(stop)
				}
			}
		})
	}
	return func() {
		close(stop)
		running.Wait()
	}
}
