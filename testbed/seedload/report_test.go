package seedload

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
)

const page = `# The seed load in the small

Measured by ` + "`make seedload`" + ` (seed %d): %s, %d cores, %s; all of it on this one machine, the load and its exact counts included.
Four producers, a Kafka broker with a topic of %d partitions, four shards, two gateways, Redis and two readers, as examples/kafka,
examples/fleet and examples/redis have them, with storage; the shards have a second rule, which counts marked records.

Sent: %d records in %v, %.0f a second, %d a request; tenants by Zipf's law of 1.0 over %d keys in %d regions. From a fifth of the time on
one tenant that stood in no list had %.0f %% of all records. At %.0f %% of the time a shard and a gateway were killed at once (kill -9), and came back after
%v; later, one after the other, a reader, the other gateway and the other reader, each for the same time.

| | asked | measured |
|---|---|---|
| lists of ten, global and by region, 5m and 1h, at each reader and gateway: equal to the exact ones of what was counted, up to ties | all | %d of %d |
| of them equal to the exact ones of what was sent, each record once | | %d |
| records that counted twice, of those that the killed shard had not committed | at most %d | %d |
| largest error bound of a listed key, share of the list's total | | %.5f %% |
| event to list, outside of the faults: half, 99 %%, longest | 99 %%: under %v | %s |
| event to list, in the faults: half, 99 %%, longest | under %v | %s |
| list reads answered 200 or 304 | at least %.1f %% | %.3f %% of %d (%s) |
| time of a list read: half, 99 %%, longest | | %s |
| request to a producer answered after it was due: half, 99 %%, longest | | %s |

- Equal up to ties: each place holds a key with the exact weight of that place; the total is exact, each exact weight within its bounds. What counted twice is
  known to the record: of each partition of the killed shard the first messages from the committed offset on, so many as the totals of all regions say.
- Event to list: five records a second are marked; from the time of the record, which is when it was due to be sent, until a list at a reader has it, asked
  for five times a second. In the faults: what was under way between a kill and %v after the last process was back.
- A list read: a request to the pair of readers or the pair of gateways, taken in turn, as behind a load balancer: where one does not answer, the other one is
  asked, which happened %d times. %d reads a second, half of them of a region, with the ETag of the list before.

| processes | CPU seconds by million records | cores |
|---|---|---|
%s`

// report what was measured, and write it down where it is to be written.
func (r *trial) report(d delays) {
	sent, seconds := float64(r.load.sent()), r.load.took.Seconds()
	open := 0
	for _, partition := range r.open {
		for _, message := range partition {
			open += len(message)
		}
	}
	var answers []time.Duration
	for _, request := range r.load.requests {
		answers = append(answers, request.answer)
	}
	share, reads := r.audience.answered()
	second := r.pairs[0].second.Load() + r.pairs[1].second.Load()
	statuses := fmt.Sprintf("200: %d, 304: %d", r.audience.statuses[http.StatusOK], r.audience.statuses[http.StatusNotModified])
	text := fmt.Sprintf(page, *seed, collector.CPUModel(), runtime.NumCPU(), runtime.Version(), partitions,
		r.load.sent(), r.load.took.Round(time.Second), sent/seconds, r.load.batch, *keys, *regions, surges*100, shardKilled*100, r.part(outage),
		r.judged.lists, r.judged.lists, r.judged.once, open, len(r.twice), r.judged.margin*100,
		usually, three(d.outside), always, three(d.inside), answering*100, share*100, reads, statuses, three(sorted(r.audience.times)), three(sorted(answers)),
		settling, second, readsPerSecond, r.costs(sent, seconds))
	r.Log("\n" + text)
	if *results != "" {
		require.NoError(r, os.WriteFile(filepath.Join(*results, "seedload.md"), []byte(text), 0o644))
	}
}

// costs are rows of CPU time, the largest first.
func (r *trial) costs(sent, seconds float64) string {
	kinds := make([]string, 0, len(r.used))
	sum := time.Duration(0)
	for kind, used := range r.used {
		kinds = append(kinds, kind)
		sum += used
	}
	slices.SortFunc(kinds, func(a, b string) int { return int(r.used[b] - r.used[a]) })
	rows := new(strings.Builder)
	row := func(kind string, used time.Duration) {
		fmt.Fprintf(rows, "| %s | %.2f | %.2f |\n", kind, used.Seconds()/sent*1e6, used.Seconds()/seconds)
	}
	for _, kind := range kinds {
		row(kind, r.used[kind])
	}
	row("all", sum)
	return rows.String()
}

// three quantiles of sorted durations.
func three(sorted []time.Duration) string {
	text := make([]string, 0, 3)
	for _, q := range []float64{0.5, 0.99, 1} {
		v := quantile(sorted, q)
		unit := time.Millisecond / 10
		if v > time.Second {
			unit = 10 * time.Millisecond
		}
		text = append(text, v.Round(unit).String())
	}
	return strings.Join(text, ", ")
}

func sorted(d []time.Duration) []time.Duration {
	slices.Sort(d)
	return d
}
