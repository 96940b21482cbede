// Package bench measures whole collectors: CPU seconds by record, and what one of them takes in a second.
package bench

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/generator"
	"github.com/otel-topk/collector/testbed/oracle"
)

const batch = 1000 // records a request

// load is requests that were encoded beforehand, so that sending them costs next to nothing.
type load struct {
	requests [][]byte
	counts   []*oracle.Counts // of tenant.id
	sent     []atomic.Int64   // times each was sent
}

// newLoad makes n requests of a thousand records of four attributes, 100,000 tenants by Zipf's law of 1.01.
func newLoad(t testing.TB, n int) *load {
	t.Helper()
	gen, err := generator.New(generator.Config{Seed: 1, Keys: 100_000, Exponent: 1.01, Regions: 8})
	require.NoError(t, err)
	l := &load{sent: make([]atomic.Int64, n)}
	for range n {
		counts := oracle.NewCounts()
		ld := gen.Logs(batch, time.Now(), func(r generator.Record) { counts.Add(r.Tenant, 1) })
		encoded, err := (&plog.ProtoMarshaler{}).MarshalLogs(ld)
		require.NoError(t, err)
		l.requests, l.counts = append(l.requests, encoded), append(l.counts, counts)
	}
	return l
}

// exact is what was sent so far.
func (l *load) exact() *oracle.Counts {
	sum := oracle.NewCounts()
	for i, counts := range l.counts {
		times := uint64(l.sent[i].Load())
		for key, weight := range counts.Weights {
			sum.Weights[key] += weight * times
		}
		sum.Total += counts.Total * times
		sum.Records += counts.Records * times
	}
	return sum
}

// send records to an address over some connections, at most rate a second (0: as fast as they are answered), and return how
// long it took.
func (l *load) send(t testing.TB, address string, records, connections int, rate float64) time.Duration {
	t.Helper()
	start := time.Now()
	var next atomic.Int64
	var group sync.WaitGroup
	errs := make(chan error, connections)
	for range connections {
		sender := collector.NewSender(t, address)
		group.Go(func() {
			for {
				n := int(next.Add(1) - 1)
				if n*batch >= records {
					return
				}
				if rate > 0 {
					<-time.After(time.Until(start.Add(time.Duration(float64(n*batch) / rate * float64(time.Second)))))
				}
				i := n % len(l.requests)
				if err := sender.Raw(context.Background(), collector.LogsMethod, l.requests[i]); err != nil {
					errs <- fmt.Errorf("request %d: %w", n, err)
					return
				}
				l.sent[i].Add(1)
			}
		})
	}
	group.Wait()
	select {
	case err := <-errs:
		t.Fatal(err)
	default:
	}
	return time.Since(start)
}

// cpu seconds that a collector has used.
func cpu(t testing.TB, c *collector.Collector) float64 {
	t.Helper()
	return collector.Value(t, c.Telemetry(t), "otelcol_process_cpu_seconds")
}
