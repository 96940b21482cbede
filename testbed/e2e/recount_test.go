package e2e

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/archived"
	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/dataset"
	"github.com/otel-topk/collector/testbed/oracle"
)

// shuffled sends all records in an order that has nothing to do with their times: most are late by hours.
func (r *replay) shuffled(t *testing.T, seed uint64, to *collector.Sender) {
	t.Helper()
	order := rand.New(rand.NewPCG(seed, 0)).Perm(r.stream.Len())
	for some := range slices.Chunk(order, 1000) {
		if r.stream.Signal == "logs" {
			require.NoError(t, to.Logs(t.Context(), r.stream.Logs(slices.Values(some))))
		} else {
			require.NoError(t, to.Traces(t.Context(), r.stream.Traces(slices.Values(some))))
		}
	}
}

// same says whether what a job answers, the first eleven, is what another program counted. The order of composite keys that weigh
// the same is another one there.
func same(t *testing.T, exact dataset.Exact, key dataset.Key, got *oracle.Job) bool {
	t.Helper()
	want := dataset.Exact{Total: exact.Total, Distinct: exact.Distinct, Top: slices.Clone(exact.Top), Next: exact.Next}
	has := dataset.Exact{Total: got.Total, Distinct: got.Distinct}
	for i, item := range got.Results {
		if i == 10 {
			has.Next = item.Count
			break
		}
		has.Top = append(has.Top, dataset.Count{Key: item.Name(), Count: item.Count})
	}
	if len(key.Paths) > 1 {
		for _, top := range [][]dataset.Count{want.Top, has.Top} {
			for i := range top {
				top[i].Key = ""
			}
		}
	}
	return assert.Equal(t, "done", got.Status, got.Error) && assert.Equal(t, want, has)
}

func TestRealDataIsRecountedAsItWasCounted(t *testing.T) {
	dir, ok := dataset.Find("../..")
	if !ok {
		t.Log("the folder of the data sets is absent: nothing was recounted")
		return
	}
	for _, name := range dataset.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of the time is waiting
			streams, err := dataset.Read(dir, name)
			require.NoError(t, err)
			exact, err := dataset.ReadExact(dir, name)
			require.NoError(t, err)
			windows, err := dataset.ReadWindows(dir, name)
			require.NoError(t, err)
			for _, s := range streams {
				more := furtherRules(s)
				rules := newReplay(s).configured()
				for _, f := range more {
					rules += f.yaml
				}
				a := startArchiving(t, "event", rules)
				newReplay(s).shuffled(t, 1, a.into[0])
				archived.Await(t, a.store, s.Signal, int64(s.Len()))
				a.recountWhole(t, s, exact[s.Name])
				a.recountWindows(t, s, windows)
				a.recountFurther(t, s, more)
			}
		})
	}
}

// recountWhole counts each key over all of a stream.
func (a *archiving) recountWhole(t *testing.T, s *dataset.Stream, exact map[string]dataset.Exact) {
	t.Helper()
	for _, key := range s.Keys {
		job := a.answers.Recount(t, collector.Asked{Rule: key.Name, From: first(s), To: last(s), K: 11})
		require.True(t, same(t, exact[key.Name], key, job), key.Name)
	}
}

// first and last are the bounds of a stream.
func first(s *dataset.Stream) string { return collector.Moment(time.Unix(0, s.Times[0])) }
func last(s *dataset.Stream) string  { return collector.Moment(time.Unix(0, s.Times[s.Len()-1]+1)) }

// everyShort is of how many windows shorter than an hour one is counted.
const everyShort = 4

// recountWindows counts each hour and longer window that another program counted, and some shorter ones, as many jobs at once as may wait.
func (a *archiving) recountWindows(t *testing.T, s *dataset.Stream, windows []dataset.Window) {
	t.Helper()
	jobs := make(map[string]dataset.Window)
	keys := make(map[string]dataset.Key)
	for _, key := range s.Keys {
		keys[key.Name] = key
	}
	for i, w := range windows {
		if w.Stream != s.Name || w.Span < time.Hour && i%everyShort != 0 {
			continue
		}
		asked := collector.Asked{Rule: w.Key, From: collector.Moment(w.Start), To: collector.Moment(w.Start.Add(w.Span)), K: 11}
		if w.Rows > 0 {
			asked.From = collector.Moment(time.Unix(0, s.Times[w.First]))
			asked.To = collector.Moment(time.Unix(0, s.Times[min(w.First+w.Rows, s.Len())-1]+1))
		}
		jobs[a.answers.Begin(t, asked)] = w
	}
	for id, w := range jobs {
		require.True(t, same(t, w.Exact, keys[w.Key], a.answers.AwaitJob(t, id)), "%s from %v, %v long", w.Key, w.Start, w.Span)
	}
}
