// Package seedload holds a whole fleet on one machine under load to what it promises: producers, Kafka, shards, gateways, Redis and
// readers, real processes all, of which some are killed and come back.
package seedload

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/generator"
)

var (
	rate     = flag.Int("rate", 5000, "records a second")
	duration = flag.Duration("duration", 45*time.Second, "of the load")
	keys     = flag.Int("keys", 200_000, "tenants, by Zipf's law of 1.0")
	regions  = flag.Int("regions", 8, "each with lists of its own")
	results  = flag.String("results", "", "folder to write seedload.md to; none: nothing is written")
	seed     = flag.Uint64("seed", 0, "of what is random; 0: of the clock")
)

// What is asked of the fleet.
const (
	places    = 10               // of a list
	usually   = 15 * time.Second // from an event to the list, at the 99th percentile outside of faults
	always    = 45 * time.Second // at most
	answering = 0.999            // of list reads

	readsPerSecond = 100
	shardKilled    = 0.4  // of the time that the load lasts
	outage         = 0.05 // of each process that is killed
)

// trial is one run of the load.
type trial struct {
	*fleet
	load     *load
	markers  markers
	audience audience
	pairs    []*pair
	faults   []span
	open     [][]message // not committed when a shard was killed
	twice    []record    // that counted twice, of those
	judged   struct {
		lists, once int     // and those of them that are the exact ones of what was sent, too
		margin      float64 // the largest error bound of a listed key, as a share of the list's total
	}
}

func TestAFleetUnderLoadListsWhatWasSent(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", *seed)
	r := &trial{fleet: startFleet(t)}
	r.load = newLoad(t, generator.Config{Seed: *seed, Keys: *keys, Exponent: 1, Regions: *regions}, *rate, r.part(0.2))
	r.pairs = r.fleet.pairs()
	r.awaitGroup()

	ctx, end := context.WithCancel(t.Context())
	var sending, watching sync.WaitGroup
	defer watching.Wait()
	defer sending.Wait()
	defer end()
	r.load.start = time.Now()
	sending.Go(func() { r.load.run(ctx, *duration, r.senders[:]) })
	watching.Go(func() { r.markers.watch(ctx, r.pairs[0]) })
	r.awaitRegions()
	watching.Go(func() { r.audience.watch(ctx, r.pairs, readsPerSecond) })
	r.kills()
	sending.Wait()
	r.settle()
	r.findTwice()
	end()
	watching.Wait()
	r.judge()
	r.stop()

	d := r.markers.delays(r.load.requests, r.faults)
	share, n := r.audience.answered()
	assert.Zero(t, d.missing, "marked records that were never listed")
	assert.Less(t, quantile(d.outside, 0.99), usually, "from an event to the list")
	assert.Less(t, max(quantile(d.inside, 1), quantile(d.outside, 1)), always, "from an event to the list")
	assert.GreaterOrEqual(t, share, answering, "of %d reads; failed: %q", n, r.audience.failures)
	r.report(d)
}

// part of the time that the load lasts.
func (r *trial) part(p float64) time.Duration { return time.Duration(p * float64(*duration)) }

// until a part of the load is through.
func (r *trial) until(p float64) { <-time.After(time.Until(r.load.start.Add(r.part(p)))) }

// awaitRegions waits until all servers of lists have one of each region.
func (r *trial) awaitRegions() {
	r.Helper()
	for i := range *regions {
		r.audience.regions = append(r.audience.regions, generator.RegionName(i))
	}
	r.audience.seed = *seed
	servers := append(r.readers[:], r.gateways[:]...)
	collector.AwaitFor(r, time.Minute, func() bool {
		for _, server := range servers {
			for _, region := range r.audience.regions {
				if list := server.Find(r, "rule", "tenants", "window", "1h", "group", region); list == nil || len(list.Items) < places {
					return false
				}
			}
		}
		return true
	}, func() string { return "a server without a list of each region" })
}

// kills a shard and a gateway at once in the middle, and after that a reader, the other gateway and the other reader, each once
// the one before is back.
func (r *trial) kills() {
	r.until(shardKilled)
	fault := span{from: time.Now()}
	r.kill("shards", r.shards[1])
	r.kill("gateways", r.gateways[0])
	r.open = r.uncommitted(1)
	r.until(shardKilled + outage)
	r.revive(&r.shards[1])
	r.revive(&r.gateways[0])
	fault.to = time.Now()
	r.faults = append(r.faults, fault)

	r.outage(0.6, "readers", &r.readers[0])
	r.faults = append(r.faults, r.outage(0.7, "gateways", &r.gateways[1]))
	r.outage(0.8, "readers", &r.readers[1])
}

// outage of one process from a part of the time on.
func (r *trial) outage(from float64, kind string, c **collector.Collector) span {
	r.until(from)
	start := time.Now()
	r.kill(kind, *c)
	r.until(from + outage)
	r.revive(c)
	return span{start, time.Now()}
}

// settle waits until all that was sent is counted at both gateways and both readers, and nothing more comes.
func (r *trial) settle() {
	r.Helper()
	const steady = 15 * time.Second
	want, since, before := uint64(r.load.sent()), time.Now(), [4]uint64{}
	collector.AwaitFor(r, 2*time.Minute, func() bool {
		var now [4]uint64
		all := true
		for i, server := range append(r.readers[:], r.gateways[:]...) {
			if list := server.Find(r, "rule", "tenants", "window", "1h"); list != nil {
				now[i] = list.Total
			}
			all = all && now[i] >= want && now[i] == now[0]
		}
		if now != before || !all {
			before, since = now, time.Now()
		}
		return time.Since(since) > steady
	}, func() string { return fmt.Sprintf("%d were sent, and counted: %v", want, before) })
}

// findTwice finds what counted twice.
func (r *trial) findTwice() {
	r.Helper()
	more := make(map[string]int)
	for _, request := range r.load.requests {
		assert.Zero(r, request.again, "a request that was sent again")
		for _, run := range request.runs {
			more[run.region] -= run.to - run.from
		}
	}
	for region := range more {
		more[region] += int(r.readers[0].Trending(r, "rule", "tenants", "window", "1h", "group", region).Total)
	}
	var found bool
	r.twice, found = twice(r.open, more)
	require.True(r, found, "counted more than was sent, by region: %v; no messages that were not committed add up to that", more)
}

// judge the lists of all and of each region, in the windows that hold all of it or the newest of it, at each server.
func (r *trial) judge() {
	var e *exact
	for _, region := range append([]string{""}, r.audience.regions...) {
		for _, window := range []string{"5m", "1h"} {
			var from time.Time
			for i, server := range append(r.readers[:], r.gateways[:]...) {
				query := []string{"rule", "tenants", "window", window}
				if region != "" {
					query = append(query, "group", region)
				}
				list := server.Trending(r, query...)
				if !list.WindowStart.Equal(from) {
					from = *list.WindowStart
					e = r.load.count(region, from, r.twice, e)
				}
				assert.NoError(r, e.judge(list), "list of %q and %s at server %d", region, window, i)
				r.judged.lists++
				if e.once(list) {
					r.judged.once++
				}
				for _, item := range list.Items {
					r.judged.margin = max(r.judged.margin, float64(item.ErrorBound)/float64(list.Total))
				}
			}
		}
	}
}
