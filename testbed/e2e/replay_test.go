package e2e

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/dataset"
	"github.com/otel-topk/collector/testbed/oracle"
)

// grouped are rules that count one key of a stream by another one.
var grouped = map[string]struct{ key, by string }{
	"auth-elastic-sshd/lines":          {"src_ip", "program"},
	"dns-zeek-wrccdc/dns":              {"query", "client"},
	"edits-wikipedia-20150912/edits":   {"user", "country"}, // most edits have no country
	"flow-kdd99-10pct/connections":     {"service", "protocol"},
	"otlp-logs-loadgen/logs":           {"body", "service.name"},
	"otlp-traces-hipstershop/spans":    {"name", "k8s.pod.name"},
	"spans-nezha-onlineboutique/spans": {"OperationName", "PodName"},
	"web-elastic-apache/requests":      {"client_ip", "status"},
}

// counted is a rule and what the replay has counted of it so far.
type counted struct {
	name  string
	key   int // of the stream
	by    int // -1: no group_by
	exact oracle.Tally
}

// replay sends one stream to several deployments.
type replay struct {
	stream *dataset.Stream
	rules  []*counted
	sent   int
}

func newReplay(s *dataset.Stream) *replay {
	r := &replay{stream: s}
	index := make(map[string]int)
	for k, key := range s.Keys {
		index[key.Name] = k
		r.rules = append(r.rules, &counted{name: key.Name, key: k, by: -1})
	}
	if g, ok := grouped[s.Set+"/"+s.Name]; ok {
		r.rules = append(r.rules, &counted{name: g.key + " by " + g.by, key: index[g.key], by: index[g.by]})
	}
	return r
}

// configured are the rules as a user writes them, in YAML.
func (r *replay) configured() string {
	var b strings.Builder
	for _, c := range r.rules {
		key := r.stream.Keys[c.key]
		paths := key.Paths
		fmt.Fprintf(&b, "      - name: '%s'\n", c.name)
		fmt.Fprintf(&b, "        key: ['%s']\n", strings.Join(paths, "', '"))
		fmt.Fprintf(&b, "        conditions: ['%s != \"\"']\n", paths[0])
		fmt.Fprintf(&b, "        signals: [%s]\n", r.stream.Signal)
		if r.stream.Signal == "traces" {
			fmt.Fprintf(&b, "        time: start\n")
		}
		if key.Residents > 0 {
			fmt.Fprintf(&b, "        accuracy: {residents: %d}\n", key.Residents)
		} else {
			fmt.Fprintf(&b, "        max_key_bytes: 16384\n") // whole bodies; with more residents a state would be too large
		}
		if c.by >= 0 {
			fmt.Fprintf(&b, "        group_by: '%s'\n", r.stream.Keys[c.by].Paths[0])
		}
	}
	return b.String()
}

// send the records up to end, in requests of a thousand a collector, dealt in turn.
func (r *replay) send(t *testing.T, end int, to ...*deployment) {
	t.Helper()
	for r.sent < end {
		next := min(r.sent+3000, end)
		for _, d := range to {
			for shard, sender := range d.into {
				records := every(r.sent+shard, next, len(d.into))
				if r.stream.Signal == "logs" {
					require.NoError(t, sender.Logs(t.Context(), r.stream.Logs(records)))
				} else {
					require.NoError(t, sender.Traces(t.Context(), r.stream.Traces(records)))
				}
			}
		}
		for i := r.sent; i < next; i++ {
			for _, c := range r.rules {
				if value := r.stream.Values[c.key][i]; value != "" {
					c.exact.Add(r.stream.Times[i], c.group(r.stream, i), value, 1)
				}
			}
		}
		r.sent = next
	}
}

// every is the numbers from first to end by a step.
func every(first, end, step int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := first; i < end && yield(i); i += step {
		}
	}
}

func (c *counted) group(s *dataset.Stream, i int) oracle.Group {
	switch {
	case c.by < 0:
		return oracle.Global
	case s.Values[c.by][i] == "":
		return oracle.Missing
	}
	return oracle.Named(s.Values[c.by][i])
}

// check every list of d against what was sent.
func (r *replay) check(t *testing.T, d *deployment) {
	t.Helper()
	for _, c := range r.rules {
		if c.exact.Newest().UnixNano() == 0 {
			continue // no record yet
		}
		key := r.stream.Keys[c.key]
		for _, window := range []time.Duration{time.Minute, 5 * time.Minute, time.Hour, 24 * time.Hour} {
			groups := []oracle.Group{oracle.Global}
			if c.by >= 0 {
				groups = c.exact.Groups()
			}
			for _, group := range groups {
				r.checkList(t, d, c, key, window, group)
			}
		}
	}
}

func (r *replay) checkList(t *testing.T, d *deployment, c *counted, key dataset.Key, window time.Duration, group oracle.Group) {
	t.Helper()
	name := map[time.Duration]string{time.Minute: "1m", 5 * time.Minute: "5m", time.Hour: "1h", 24 * time.Hour: "24h"}[window]
	query := []string{"rule", c.name, "window", name}
	switch group.Scope {
	case "group":
		query = append(query, "group", group.Name)
	case "missing":
		query = append(query, "scope", "missing")
	}
	what := fmt.Sprintf("rule %q, window %s, group %v, after %d records", c.name, name, group, r.sent)
	newest := c.exact.Newest()
	start := newest.Truncate(time.Minute).Add(time.Minute - window)
	var list *oracle.List
	var exact *oracle.Counts
	collector.Await(t, func() bool {
		list = d.answers.Find(t, append(query, "k", "100")...)
		if list == nil || list.Total == 0 {
			exact = c.exact.Window(start, newest, group)
			return exact.Total == 0
		}
		// Where nothing changed a list is published once a minute, so it may be of an earlier moment.
		exact = c.exact.Window(*list.WindowStart, newest, group)
		return list.AsOf.Truncate(time.Minute).Equal(newest.Truncate(time.Minute)) && list.Total == exact.Total
	}, func() string {
		return fmt.Sprintf("no current list of %s: %+v, %d were counted as of %v", what, list, exact.Total, newest)
	})
	if exact.Total == 0 {
		return // with no list, or an empty one of any moment since
	}
	if group == oracle.Global {
		assert.Equal(t, newest, *list.AsOf, what)
	}
	assert.False(t, list.WindowStart.Before(start), "window_start of %s", what)
	assert.True(t, list.WindowStart.Before(start.Add(5*time.Minute)), "window_start of %s", what)
	require.NoError(t, list.Law(exact, 100), what)
	ten := d.answers.Trending(t, append(query, "k", "10")...)
	require.NoError(t, ten.Law(exact, 10), what)
	require.NoError(t, ten.Same(exact, 10), what)
	r.checkPoints(t, d, key, list, exact, query, what)
}

// checkPoints asks for the first and the last key of the list and for the rarest of all.
func (r *replay) checkPoints(t *testing.T, d *deployment, key dataset.Key, list *oracle.List, exact *oracle.Counts, query []string, what string) {
	t.Helper()
	if len(key.Paths) > 1 || len(list.Items) == 0 {
		return
	}
	for _, item := range []oracle.Item{list.Items[0], list.Items[len(list.Items)-1]} {
		point := d.answers.Count(t, item.Key, query...)
		require.NoError(t, point.Law(exact), what)
		assert.Equal(t, []any{item.Estimate, item.Lower}, []any{point.Estimate, point.Lower}, "list and point count of %s", what)
	}
	ranked := exact.Ranked()
	require.NoError(t, d.answers.Count(t, ranked[len(ranked)-1].Key, query...).Law(exact), what)
	require.NoError(t, d.answers.Count(t, "no such key", query...).Law(exact), what)
}

// Parts that a replay stops at, to hold the lists against the counts.
const parts = 4

func TestRealDataIsListedAsItWasCounted(t *testing.T) {
	dir, ok := dataset.Find("../..")
	if !ok {
		t.Log("the folder of the data sets is absent: nothing was replayed")
		return
	}
	for _, name := range dataset.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of the time is waiting
			streams, err := dataset.Read(dir, name)
			require.NoError(t, err)
			for _, s := range streams {
				r := newReplay(s)
				one := startSingle(t, "event", s.Signal, r.configured())
				three := startFleet(t, 3, "event", s.Signal, r.configured())
				for part := range parts {
					r.send(t, s.Len()*(part+1)/parts, one, three)
					r.check(t, one)
					r.check(t, three)
				}
				r.compare(t, one, three)
			}
		})
	}
}

// compare the lists of two deployments that were sent the same: where neither is approximate, they are equal.
func (r *replay) compare(t *testing.T, a, b *deployment) {
	t.Helper()
	for _, c := range r.rules {
		query := []string{"rule", c.name, "window", "1h", "k", "10"}
		first, second := a.answers.Trending(t, query...), b.answers.Trending(t, query...)
		bounded := func(i oracle.Item) bool { return i.ErrorBound > 0 }
		if !slices.ContainsFunc(first.Items, bounded) && !slices.ContainsFunc(second.Items, bounded) {
			assert.Equal(t, first.Items, second.Items, "rule %s", c.name)
		}
	}
}
