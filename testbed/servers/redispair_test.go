package servers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
	"github.com/otel-topk/collector/testbed/generator"
	"github.com/otel-topk/collector/testbed/oracle"
	"github.com/otel-topk/collector/testbed/redis"
)

const (
	both  = "" // gateways get all rules
	quick = "receivers: {trend: {publish_interval: 200ms}}"
)

// pair is an agent of two gateways that write to one Redis, and two readers of it.
type pair struct {
	testing.TB
	address  string // of Redis, for all of them
	redis    *redis.Server
	gateways [2]*collector.Collector
	readers  [2]*collector.Collector
	agent    *collector.Sender

	mu     sync.Mutex
	gen    *generator.Generator
	counts *oracle.Counts
	sent   uint64
}

// newPair starts all of them; split is what the agent has beside both gateways, over what the gateways and readers have beside Redis.
func newPair(t testing.TB, split string, over ...string) *pair {
	ports := collector.NewPorts()
	p := &pair{TB: t, counts: oracle.NewCounts(), address: ports.Address(t, "redis")}
	p.redis = redis.Start(t, p.address)
	p.start(ports, split, over...)
	return p
}

func (p *pair) start(ports *collector.Ports, split string, over ...string) {
	var err error
	p.gen, err = generator.New(generator.Config{Seed: 4, Keys: 300, Exponent: 1, Regions: 2})
	require.NoError(p, err)
	agentPorts := collector.NewPorts()
	agent := examples.Load(p, "examples/fleet/agent.yaml", examples.Read(p, "examples/redis/agent.yaml"), "processors: {topk: {emit_interval: 200ms}}", split)
	for i := range p.gateways {
		own := collector.NewPorts()
		own.Share(p, "redis", ports, "redis")
		layers := append([]string{quick, examples.Read(p, "examples/redis/gateway.yaml")}, over...)
		p.gateways[i] = collector.Start(p, examples.Load(p, "examples/fleet/gateway.yaml", layers...), own)
		place := fmt.Sprint("states", i)
		agentPorts.Share(p, place, own, "states")
		agent = strings.Replace(agent, "<states>", "<"+place+">", 1)
	}
	for i := range p.readers {
		own := collector.NewPorts()
		own.Share(p, "redis", ports, "redis")
		p.readers[i] = collector.Start(p, examples.Load(p, "examples/redis/reader.yaml", over...), own)
	}
	collector.Start(p, agent, agentPorts)
	p.agent = collector.NewSender(p, agentPorts.Address(p, "otlp"))
}

// send a thousand records.
func (p *pair) send() {
	p.mu.Lock()
	defer p.mu.Unlock()
	ld := p.gen.Logs(1000, time.Now(), func(r generator.Record) { p.counts.Add(r.Tenant, 1) })
	require.NoError(p, p.agent.Logs(p.Context(), ld))
	p.sent += 1000
}

// load sends until it is told to end.
func (p *pair) load() (end func()) {
	ctx, cancel := context.WithCancel(p.Context())
	var sending sync.WaitGroup
	sending.Go(func() {
		for ctx.Err() == nil {
			p.send()
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
	return func() {
		cancel()
		sending.Wait()
	}
}

func (p *pair) total() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent
}

// await the exact list at both readers.
func (p *pair) await() {
	p.Helper()
	for _, r := range p.readers {
		var list *oracle.List
		collector.AwaitFor(p, time.Minute, func() bool {
			list = r.Find(p, "rule", "tenants", "window", "1h", "k", "100")
			return list != nil && list.Total == p.total()
		}, func() string { return fmt.Sprintf("%+v, want %d", list, p.total()) })
		for i, it := range list.Items {
			require.Equal(p, p.counts.Weights[it.Key], it.Estimate, "item %d", i)
		}
		unlisted := p.counts.Ranked()[150]
		assert.Equal(p, unlisted.Weight, r.Count(p, unlisted.Key, "rule", "tenants", "window", "1h").Estimate, "also keys outside of the list")
	}
}

// awaitNews waits until both readers have what was sent up to now, and more.
func (p *pair) awaitNews() {
	p.Helper()
	now := p.total()
	for _, r := range p.readers {
		collector.AwaitFor(p, time.Minute, func() bool { return r.Trending(p, "rule", "tenants", "window", "1h").Total > now },
			func() string { return fmt.Sprintf("no list of more than %d", now) })
	}
}

func (p *pair) awaitOutput(c *collector.Collector, text string) {
	p.Helper()
	collector.AwaitFor(p, 30*time.Second, func() bool { return strings.Contains(c.Output(), text) },
		func() string { return "nobody who says " + text + ":\n" + c.Output() })
}

// watch reads a list at both readers again and again, as browsers do, until it is told to end: then at least 99.9 % were answered, and at
// neither of them as_of went back.
func (p *pair) watch() (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(p.Context()))
	var (
		watching        sync.WaitGroup
		asked, answered atomic.Int64
	)
	for i, r := range p.readers {
		address := r.Ports.Address(p, "api")
		watching.Go(func() {
			var etag string
			var last time.Time
			for ctx.Err() == nil {
				status, tag, asOf, err := ask(address, etag)
				asked.Add(1)
				if err == nil && (status == http.StatusOK || status == http.StatusNotModified) {
					answered.Add(1)
					etag = tag
				} else {
					p.Logf("reader %d: %d %v", i, status, err)
				}
				if status == http.StatusOK {
					assert.False(p, asOf.Before(last), "reader %d: %v after %v", i, asOf, last)
					last = asOf
				}
				select {
				case <-ctx.Done():
				case <-time.After(10 * time.Millisecond):
				}
			}
		})
	}
	return func() {
		cancel()
		watching.Wait()
		p.Logf("%d of %d reads were answered", answered.Load(), asked.Load())
		assert.GreaterOrEqual(p, 1000*answered.Load(), 999*asked.Load())
		assert.Greater(p, answered.Load(), int64(100))
	}
}

// ask for a list that the client may have.
func ask(address, etag string) (status int, tag string, asOf time.Time, err error) {
	request, err := http.NewRequest(http.MethodGet, "http://"+address+"/v1/trending?rule=tenants&window=1h", nil)
	if err != nil {
		return 0, "", asOf, err
	}
	request.Header.Set("If-None-Match", etag)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", asOf, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return response.StatusCode, etag, asOf, err
	}
	var list struct {
		AsOf time.Time `json:"as_of"`
	}
	err = json.Unmarshal(body, &list)
	return response.StatusCode, response.Header.Get("ETag"), list.AsOf, err
}
