package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/oracle"
)

const tenantRule = "      - name: tenants\n        key: log.attributes[\"tenant\"]\n"

// tenants is a request of n records of one moment.
func tenants(n int, at time.Time) plog.Logs {
	ld := plog.NewLogs()
	records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for i := range n {
		lr := records.AppendEmpty()
		lr.SetTimestamp(pcommon.NewTimestampFromTime(at))
		lr.Attributes().PutStr("tenant", fmt.Sprintf("tenant-%d", i%7))
		lr.Attributes().PutStr("route", fmt.Sprintf("/%d", i%3))
		lr.Attributes().PutInt("bytes", 100)
	}
	return ld
}

func sendTenants(t *testing.T, to *collector.Sender, n int) {
	t.Helper()
	require.NoError(t, to.Logs(t.Context(), tenants(n, time.Now())))
}

// traffic sends all the time, and sends nothing twice.
type traffic struct {
	answered, unanswered atomic.Uint64 // records
	stop                 chan struct{}
	done                 sync.WaitGroup
}

func startTraffic(t *testing.T, to *collector.Sender) *traffic {
	c := &traffic{stop: make(chan struct{})}
	c.done.Go(func() {
		for {
			select {
			case <-c.stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
			if err := to.Logs(t.Context(), tenants(10, time.Now())); err == nil {
				c.answered.Add(10)
			} else {
				c.unanswered.Add(10)
			}
		}
	})
	return c
}

// flow waits until some more was answered.
func (c *traffic) flow(t *testing.T) {
	t.Helper()
	before := c.answered.Load()
	collector.Await(t, func() bool { return c.answered.Load() >= before+200 }, func() string { return "no answer to what is sent" })
}

// end the traffic, and hold a list against it: all that was answered counts, and nothing that was not sent.
func (c *traffic) end(t *testing.T, to *collector.Sender, answers *collector.Collector, query ...string) {
	t.Helper()
	close(c.stop)
	c.done.Wait()
	await := func() *oracle.List {
		var list *oracle.List
		least := c.answered.Load()
		collector.Await(t, func() bool {
			list = answers.Find(t, query...)
			return list != nil && list.Total >= least
		}, func() string { return fmt.Sprintf("no list of %d records: %+v", least, list) })
		return list
	}
	await()
	sendTenants(t, to, 1) // and what counts twice had time to come
	c.answered.Add(1)
	list := await()
	assert.LessOrEqual(t, list.Total, c.answered.Load()+c.unanswered.Load())
	t.Logf("%d answered, %d not, %d counted", c.answered.Load(), c.unanswered.Load(), list.Total)
}

// watchTotal asks for a list all the time, and says when its total went back.
func watchTotal(t *testing.T, address, query string) (end func()) {
	stop, done := make(chan struct{}), new(sync.WaitGroup)
	done.Go(func() {
		var last oracle.List
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
			list, ok := tryList("http://" + address + "/v1/trending?" + query)
			if !ok {
				continue // the collector is down
			}
			assert.GreaterOrEqual(t, list.Total, last.Total, "the total went back: %+v, then %+v", last, list)
			last = list
		}
	})
	return func() { close(stop); done.Wait() }
}

// tryList asks for a list; ok is false where nobody answers, or it was never published.
func tryList(url string) (list oracle.List, ok bool) {
	response, err := http.Get(url)
	if err != nil {
		return list, false
	}
	defer response.Body.Close()
	err = json.NewDecoder(response.Body).Decode(&list)
	return list, err == nil && list.AsOf != nil
}
