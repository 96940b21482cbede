package dataset

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/oracle"
)

// read sets, for all tests.
var read = make(map[string][]*Stream)

// eachSet runs test on every set, or says that the folder is absent.
func eachSet(t *testing.T, test func(t *testing.T, dir, name string, streams []*Stream)) {
	dir, ok := Find("../..")
	if !ok {
		t.Log("the folder of the data sets is absent: nothing was checked")
		return
	}
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			streams, ok := read[name]
			if !ok {
				var err error
				streams, err = Read(dir, name)
				require.NoError(t, err)
				read[name] = streams
			}
			test(t, dir, name, streams)
		})
	}
}

// count the records from first up to end exactly.
func count(values []string, first, end int) *oracle.Counts {
	counts := oracle.NewCounts()
	for _, value := range values[first:end] {
		if value != "" {
			counts.Add(value, 1)
		}
	}
	return counts
}

func requireExact(t *testing.T, want Exact, got *oracle.Counts) {
	t.Helper()
	ranked := got.Ranked()
	require.Equal(t, want.Total, got.Total)
	require.Len(t, ranked, want.Distinct)
	var top []Count
	for _, c := range ranked[:min(10, len(ranked))] {
		top = append(top, Count{c.Key, c.Weight})
	}
	require.Equal(t, want.Top, top)
	if len(ranked) > 10 {
		require.Equal(t, want.Next, ranked[10].Weight)
	}
}

func TestEveryKeyReadsAsItWasCounted(t *testing.T) {
	eachSet(t, func(t *testing.T, dir, name string, streams []*Stream) {
		exact, err := ReadExact(dir, name)
		require.NoError(t, err)
		require.Len(t, streams, len(exact))
		for _, s := range streams {
			assert.Len(t, s.Keys, len(exact[s.Name]), "stream %s", s.Name)
			for k, key := range s.Keys {
				want, ok := exact[s.Name][key.Name]
				require.True(t, ok, key.Name)
				requireExact(t, want, count(s.Values[k], 0, s.Len()))
			}
		}
	})
}

func TestEveryWindowReadsAsItWasCounted(t *testing.T) {
	eachSet(t, func(t *testing.T, dir, name string, streams []*Stream) {
		windows, err := ReadWindows(dir, name)
		require.NoError(t, err)
		require.NotEmpty(t, windows)
		for _, w := range windows {
			_, values, first, end := w.Of(streams)
			requireExact(t, w.Exact, count(values, first, end))
		}
	})
}

func TestRecordsAreSortedAndWhole(t *testing.T) {
	eachSet(t, func(t *testing.T, _, _ string, streams []*Stream) {
		for _, s := range streams {
			assert.IsNonDecreasing(t, s.Times)
			for _, values := range s.Values {
				assert.Len(t, values, s.Len())
			}
			all := func(yield func(int) bool) {
				for i := 0; i < s.Len() && yield(i); i += 7 {
				}
			}
			n := 0
			for i := range all {
				assertTime(t, s, i)
				n++
			}
			if s.Signal == "logs" {
				assert.Equal(t, n, s.Logs(all).LogRecordCount())
			} else {
				assert.Equal(t, n, s.Traces(all).SpanCount())
			}
		}
	})
}

// assertTime holds the time of record i against that of the record itself.
func assertTime(t *testing.T, s *Stream, i int) {
	one := func(yield func(int) bool) { yield(i) }
	var at time.Time
	if s.Signal == "logs" {
		lr := s.Logs(one).ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0)
		at = lr.Timestamp().AsTime()
		if lr.Timestamp() == 0 {
			at = lr.ObservedTimestamp().AsTime()
		}
	} else {
		at = s.Traces(one).ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).StartTimestamp().AsTime()
	}
	if at.UnixNano() != s.Times[i] {
		t.Errorf("record %d of %s is of %v, not %v", i, s.Name, at, time.Unix(0, s.Times[i]))
	}
}

func TestAnUnknownSetIsNamed(t *testing.T) {
	_, err := Read(t.TempDir(), "tea-leaves")
	assert.ErrorContains(t, err, "tea-leaves")
	_, err = Read(t.TempDir(), "words-war-and-peace")
	assert.ErrorContains(t, err, "pg2600.txt.zst")
}
