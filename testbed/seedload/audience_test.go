package seedload

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otel-topk/collector/testbed/oracle"
)

// pair of servers of the same lists, taken in turn. One that does not answer is passed over, as a load balancer does it: the
// read goes to the other one.
type pair struct {
	addresses [2]string
	client    *http.Client
	next      atomic.Uint64
	second    atomic.Int64 // reads that went to the other one
}

// get a path; status 0 is no answer of either.
func (p *pair) get(ctx context.Context, path, etag string) (status int, tag string, body []byte) {
	n := p.next.Add(1)
	for try := range uint64(2) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.addresses[(n+try)%2]+path, nil)
		if err != nil {
			return 0, "", nil
		}
		if etag != "" {
			request.Header.Set("If-None-Match", etag)
		}
		if try > 0 {
			p.second.Add(1)
		}
		response, err := p.client.Do(request)
		if err != nil {
			continue
		}
		body, err = io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err == nil && response.StatusCode < http.StatusInternalServerError {
			return response.StatusCode, response.Header.Get("ETag"), body
		}
	}
	return 0, "", nil
}

// list by its query, or nil.
func (p *pair) list(ctx context.Context, query string) *oracle.List {
	status, _, body := p.get(ctx, "/v1/trending?"+query, "")
	list := new(oracle.List)
	if status != http.StatusOK || json.Unmarshal(body, list) != nil {
		return nil
	}
	return list
}

// audience reads lists of ten, of all and of regions, with the ETag of the same list before.
type audience struct {
	regions []string
	seed    uint64

	mu       sync.Mutex
	statuses map[int]int // 0: no answer
	failures []string
	times    []time.Duration
}

// watch until ctx ends, some reads a second, of each pair in turn.
func (a *audience) watch(ctx context.Context, pairs []*pair, perSecond int) {
	a.statuses = make(map[int]int)
	const readers = 5
	var group sync.WaitGroup
	for i := range readers {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(a.seed, uint64(i)))
			tags := make(map[string]string)
			for n := 0; ; n++ {
				select {
				case <-ctx.Done():
					return
				case <-time.After(readers * time.Second / time.Duration(perSecond)):
				}
				path := "/v1/trending?rule=tenants&window=" + []string{"5m", "1h"}[rng.IntN(2)]
				if rng.IntN(2) == 0 {
					path += "&group=" + a.regions[rng.IntN(len(a.regions))]
				}
				start := time.Now()
				status, tag, body := pairs[n%len(pairs)].get(ctx, path, tags[path])
				if ctx.Err() != nil {
					return
				}
				tags[path] = tag
				a.note(path, status, body, time.Since(start))
			}
		})
	}
	group.Wait()
}

func (a *audience) note(path string, status int, body []byte, took time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.statuses[status]++
	a.times = append(a.times, took)
	if status != http.StatusOK && status != http.StatusNotModified && len(a.failures) < 20 {
		a.failures = append(a.failures, fmt.Sprintf("%s %s: %d %.200s", time.Now().Format(time.TimeOnly), path, status, body))
	}
}

// answered is the share of reads that were answered by a list, or by that it is the one before, and the number of reads.
func (a *audience) answered() (share float64, reads int) {
	for _, n := range a.statuses {
		reads += n
	}
	return float64(a.statuses[http.StatusOK]+a.statuses[http.StatusNotModified]) / float64(reads), reads
}
