package seedload

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/generator"
)

const (
	perSecond = 100 // requests
	markEvery = 20  // requests
	surges    = 0.2 // share of all records, of a tenant that nobody has listed
)

// load sends records at a steady rate, whether or not the fleet keeps up: a record's time is when it was due.
type load struct {
	testing.TB
	gen      *generator.Generator
	keys     int
	batch    int
	surging  int           // rank of the tenant
	from     time.Duration // after which it surges
	start    time.Time     // set before run
	requests []*request    // all of them, once run has returned
	took     time.Duration
}

// request of some records, grouped by region.
type request struct {
	due    time.Time
	marker string
	ranks  []uint32
	runs   []run
	again  int           // how often it was repeated, as no answer came
	answer time.Duration // after it was due
}

// run of records of one region: request.ranks[from:to].
type run struct {
	region   string
	from, to int
}

func newLoad(t testing.TB, cfg generator.Config, rate int, surgesFrom time.Duration) *load {
	gen, err := generator.New(cfg)
	require.NoError(t, err)
	return &load{TB: t, gen: gen, keys: cfg.Keys, batch: rate / perSecond, surging: cfg.Keys * 7 / 10, from: surgesFrom}
}

// run sends for some time. Some requests at a time are under way to each producer.
func (l *load) run(ctx context.Context, length time.Duration, to []*collector.Sender) {
	type job struct {
		*request
		plog.Logs
	}
	queues := make([]chan job, len(to))
	var group sync.WaitGroup
	for i, sender := range to {
		queues[i] = make(chan job, 16)
		for range 4 {
			group.Go(func() {
				for j := range queues[i] {
					for sender.Logs(ctx, j.Logs) != nil && ctx.Err() == nil {
						j.again++
					}
					j.answer = time.Since(j.due)
				}
			})
		}
	}
	for n := 0; ctx.Err() == nil; n++ {
		after := time.Duration(n) * time.Second / perSecond
		if after >= length {
			break
		}
		<-time.After(time.Until(l.start.Add(after)))
		if after >= l.from {
			l.gen.Surge(l.surging, surges)
		}
		r, logs := l.make(n, l.start.Add(after))
		l.requests = append(l.requests, r)
		queues[n%len(queues)] <- job{r, logs}
	}
	for _, queue := range queues {
		close(queue)
	}
	group.Wait()
	l.took = time.Since(l.start)
}

// make the n-th request.
func (l *load) make(n int, due time.Time) (*request, plog.Logs) {
	r := &request{due: due, ranks: make([]uint32, 0, l.batch)}
	logs := l.gen.Logs(l.batch, due, func(record generator.Record) {
		if len(r.runs) == 0 || r.runs[len(r.runs)-1].region != record.Region {
			r.runs = append(r.runs, run{region: record.Region, from: len(r.ranks)})
		}
		r.ranks = append(r.ranks, uint32(record.Rank))
		r.runs[len(r.runs)-1].to = len(r.ranks)
	})
	if n%markEvery == 0 {
		r.marker = fmt.Sprintf("%09d", 999_999_999-n) // of those that count the same the newest is listed first
		logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Attributes().PutStr("marker.id", r.marker)
	}
	return r, logs
}

// sent is the number of records.
func (l *load) sent() int { return len(l.requests) * l.batch }

// record as a message of the topic has it.
type record struct {
	at             time.Time
	region, tenant string
}

// decode a message.
func decode(message []byte) (records []record, err error) {
	logs, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(message)
	if err != nil {
		return nil, err
	}
	for _, rl := range logs.ResourceLogs().All() {
		region, _ := rl.Resource().Attributes().Get("cloud.region")
		for _, lr := range rl.ScopeLogs().At(0).LogRecords().All() {
			tenant, _ := lr.Attributes().Get("tenant.id")
			records = append(records, record{lr.Timestamp().AsTime(), region.Str(), tenant.Str()})
		}
	}
	return records, nil
}
