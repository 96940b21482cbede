// Package partitioning holds the lists of one stream against exact counts, however its records are dealt to shards.
package partitioning

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/testbed/generator"
	"github.com/otel-topk/collector/testbed/oracle"
)

var (
	seed    = flag.Uint64("seed", 0, "of the stream; 0: of the clock")
	records = flag.Int("records", 100_000, "of the stream")
	keys    = flag.Int("keys", 20_000, "tenants")
	minutes = flag.Int("minutes", 5, "of event time that the stream takes, at most 40")
	results = flag.String("results", "", "folder to write partitioning.md to; none: nothing is written")
)

const (
	shards   = 8
	regions  = 8
	listed   = 100
	request  = 1000
	span     = time.Hour
	hotRank  = 500 // of the tenant with hotShare
	hotShare = 0.2

	usual = 640   // residents of a rule by default
	many  = 32768 // residents, as many as a shard sees keys in a minute: its states are exact for all that is listed
)

// partitioning says which shard a record goes to. stamp is what the processor stamped it with.
type partitioning struct {
	name  string
	salts int
	to    func(n int, stamp string, rng *rand.Rand) int
}

var partitionings = []partitioning{
	{"all on one shard", 1, func(int, string, *rand.Rand) int { return 0 }},
	{"by key", 1, byStamp},
	{"by key, hot keys with 16 salts", 16, byStamp},
	{"round robin", 1, func(n int, _ string, _ *rand.Rand) int { return n % shards }},
	{"random", 1, func(_ int, _ string, rng *rand.Rand) int { return rng.IntN(shards) }},
	{"by host, each with half of the host before", 1, func(_ int, _ string, rng *rand.Rand) int {
		host := 0
		for host < shards-1 && rng.IntN(2) == 0 {
			host++
		}
		return host
	}},
}

func byStamp(_ int, stamp string, _ *rand.Rand) int { return int(xxh3.HashString(stamp) % shards) }

// outcome of one partitioning.
type outcome struct {
	partitioning string
	largest      float64 // share of the records that the largest shard got
	members      int     // keys of the global list that belong into it, ties aside
	same         int     // places of the global list that hold a key of the exact weight of the place
	lists        int     // of groups, and the global one
	sameLists    int     // that are the exact ones
	certain      int     // items of the global list
	certified    int     // lists
	bound        float64 // the largest error bound of the global list, share of the total
}

func TestListsAreTheSameHoweverRecordsArePartitioned(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", *seed)
	var all [2][]outcome
	for i, residents := range []int{usual, many} {
		for _, p := range partitionings {
			t.Run(fmt.Sprintf("%s, %d residents", p.name, residents), func(t *testing.T) {
				o := run(t, p, residents)
				if residents == many {
					assert.Equal(t, listed, o.same, "places of the global list")
					assert.Equal(t, o.lists, o.sameLists, "lists that are the exact ones")
				}
				all[i] = append(all[i], o)
			})
		}
		if !t.Failed() {
			byKey, salted := all[i][1], all[i][2]
			assert.Greater(t, byKey.largest, hotShare, "the hot key is on one shard")
			assert.Less(t, salted.largest, byKey.largest, "salts spread it")
		}
	}
	report(t, all)
}

// run the stream through shards, and hold the lists of the gateway against the exact ones.
func run(t *testing.T, p partitioning, residents int) (o outcome) {
	g, address := startGateway(t)
	all := startShards(t, address, residents)
	dealer := &dealer{partitioning: p, rng: rand.New(rand.NewPCG(*seed, 1)), took: make([]int, shards)}
	next, err := consumer.NewLogs(func(ctx context.Context, ld plog.Logs) error {
		for i, part := range dealer.deal(ld) {
			if err := all[i].ConsumeLogs(ctx, part); err != nil {
				return err
			}
		}
		return nil
	}, consumer.WithCapabilities(consumer.Capabilities{MutatesData: true}))
	require.NoError(t, err)
	stamper := startProcessor(t, next, residents, "gateways: []\npartition: {rule: tenants, salts: %d}\n", p.salts)

	exact := stream(t, stamper.ConsumeLogs)
	require.NoError(t, stamper.Shutdown(t.Context()))
	for _, shard := range all {
		require.NoError(t, shard.Shutdown(t.Context()))
	}

	o = outcome{partitioning: p.name}
	for _, n := range dealer.took {
		o.largest = max(o.largest, float64(n)/float64(*records))
	}
	lists := g.lists()
	require.Len(t, lists, len(exact))
	for group, counts := range exact {
		snapshot := lists[group]
		require.NotNil(t, snapshot, group)
		list := listOf(snapshot)
		assert.NoError(t, list.Law(counts, listed), group)
		assert.Empty(t, list.Items[listed:])
		o.lists++
		if list.Same(counts, listed) == nil {
			o.sameLists++
		}
		if list.Certified {
			o.certified++
		}
		if group == (rule.Group{}) {
			o.global(t, list, counts)
			assert.GreaterOrEqual(t, o.members, o.certain)
		}
	}
	return o
}

// global notes what of the global list is reported.
func (o *outcome) global(t *testing.T, list *oracle.List, counts *oracle.Counts) {
	ranked := counts.Ranked()
	for i, item := range list.Items {
		if counts.Weights[item.Key] >= ranked[listed-1].Weight {
			o.members++
		} else {
			assert.GreaterOrEqual(t, item.Estimate, ranked[listed-1].Weight, "what is listed in another's place may weigh as much")
		}
		if counts.Weights[item.Key] == ranked[i].Weight {
			o.same++
		}
		if item.Certain {
			o.certain++
		}
		o.bound = max(o.bound, float64(item.ErrorBound)/float64(list.Total))
	}
}

// stream the records in requests to consume, and return the exact counts of each group.
func stream(t *testing.T, consume func(context.Context, plog.Logs) error) map[rule.Group]*oracle.Counts {
	gen, err := generator.New(generator.Config{Seed: *seed, Keys: *keys, Exponent: 1, Regions: regions})
	require.NoError(t, err)
	gen.Surge(hotRank, hotShare)
	exact := map[rule.Group]*oracle.Counts{{}: oracle.NewCounts()}
	start := time.Now().Add(-time.Duration(*minutes) * time.Minute)
	for n := 0; n < *records; n += request {
		at := start.Add(time.Duration(float64(n) / float64(*records) * float64(*minutes) * float64(time.Minute)))
		require.NoError(t, consume(t.Context(), gen.Logs(request, at, func(r generator.Record) {
			group := rule.Group{Scope: rule.ScopeGroup, Name: r.Region}
			if exact[group] == nil {
				exact[group] = oracle.NewCounts()
			}
			exact[group].Add(r.Tenant, 1)
			exact[rule.Group{}].Add(r.Tenant, 1)
		})))
	}
	return exact
}

// dealer deals records to shards.
type dealer struct {
	partitioning
	rng  *rand.Rand
	n    int
	took []int // records by shard
}

// deal a request: its part for each shard, with the resources of its records.
func (d *dealer) deal(ld plog.Logs) []plog.Logs {
	parts := make([]plog.Logs, shards)
	for i := range parts {
		parts[i] = plog.NewLogs()
	}
	for _, rl := range ld.ResourceLogs().All() {
		into := make([]plog.LogRecordSlice, shards)
		for i := range into {
			part := parts[i].ResourceLogs().AppendEmpty()
			rl.Resource().CopyTo(part.Resource())
			into[i] = part.ScopeLogs().AppendEmpty().LogRecords()
		}
		for _, lr := range rl.ScopeLogs().At(0).LogRecords().All() {
			shard := d.to(d.n, stampOf(lr.Attributes()), d.rng)
			lr.MoveTo(into[shard].AppendEmpty())
			d.took[shard]++
			d.n++
		}
	}
	return parts
}

func stampOf(attributes pcommon.Map) string {
	stamp, _ := attributes.Get("topk.partition")
	return stamp.Str()
}

// listOf a snapshot, as the API would write it.
func listOf(s *wire.Snapshot) *oracle.List {
	top := s.List.First(listed)
	list := &oracle.List{
		Certified: top.Certified, Total: s.Total, TotalUpper: s.TotalUpper, Records: s.Records, Theta: top.Unlisted(), Other: top.Other(s.Total),
	}
	for i, it := range top.Items {
		list.Items = append(list.Items, oracle.Item{
			Rank: i + 1, Key: it.Key, Estimate: it.Estimate, Lower: it.Lower, ErrorBound: it.Estimate - it.Lower,
			Share: float64(it.Estimate) / float64(s.TotalUpper), Certain: it.Certain, RankCertain: it.RankCertain,
		})
	}
	return list
}

const page = `# Partitionings

Measured by ` + "`make bench-partitioning`" + ` (seed %d): %d records, tenants by Zipf's law of 1.0 over %d keys in %d regions, the tenant of rank %d with another
%.0f %% of all, through %d shards to one gateway: processors and states as in a fleet, in one process. Lists of %d, of %d minutes, against exact counts.

With residents by default, %d, which is made for lists of ten to twenty of such a stream:

%s
With ` + "`accuracy: {residents: %d}`" + `, as many as a shard sees keys in a minute, each list is the exact one, up to ties:

%s
- Keys of the exact list: those that weigh at least what its last key does. At their place: a key of the exact weight of that place. Neighbours
  closer to each other than their error bounds may change places, also the last one with the first that is not listed; they are not certain then.
- Every bound held: lower <= exact <= estimate for each listed key, no other key above the list's bound, no certificate untrue, totals exact.
- With %d shards an even share is %.3f.
`

const head = `| partitioning | largest shard, share of the records | keys of the exact global list | of them at their place | lists with all at their place | certain items, global | certified lists | largest error bound, global, share of the total |
|---|---|---|---|---|---|---|---|
`

// table of outcomes.
func table(all []outcome) string {
	var rows strings.Builder
	rows.WriteString(head)
	for _, o := range all {
		fmt.Fprintf(&rows, "| %s | %.3f | %d of %d | %d of %d | %d of %d | %d of %d | %d of %d | %.4f %% |\n", o.partitioning, o.largest, o.members, listed, o.same, listed,
			o.sameLists, o.lists, o.certain, listed, o.certified, o.lists, 100*o.bound)
	}
	return rows.String()
}

// report what was measured, and write it down where it is to be written.
func report(t *testing.T, all [2][]outcome) {
	usually, exactly := table(all[0]), table(all[1])
	t.Log("\n" + usually + "\n" + exactly)
	if *results != "" {
		require.NoError(t, os.WriteFile(filepath.Join(*results, "partitioning.md"), fmt.Appendf(nil, page, *seed, *records, *keys, regions, hotRank+1,
			100*hotShare, shards, listed, *minutes, usual, usually, many, exactly, shards, 1.0/shards), 0o644))
	}
}
