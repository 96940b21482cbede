package dataset

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/oracle"
	"github.com/otel-topk/collector/topk"
)

// sizes are the residents that a key is counted with: the default, and what it needs.
func sizes(key Key) []int {
	if key.Residents == 0 {
		return []int{topk.Residents(100)}
	}
	return []int{topk.Residents(100), key.Residents}
}

func empty(t *testing.T, residents int) *topk.Summary {
	t.Helper()
	shape, err := topk.NewShape(0.001, 0.01, 42)
	require.NoError(t, err)
	s, err := topk.New(residents, shape)
	require.NoError(t, err)
	return s
}

// summarize the texts as a shard does.
func summarize(t *testing.T, values []string, residents int) *topk.Summary {
	t.Helper()
	s := empty(t, residents)
	var batch []string
	for i, value := range values {
		if value != "" {
			batch = append(batch, value)
		}
		if len(batch) == 1000 || i == len(values)-1 {
			require.NoError(t, s.AddBatch(batch, nil))
			batch = batch[:0]
		}
	}
	return s
}

// requireList holds the lists of s against exact counts; the first ten must be the right ones where s has the residents
// that the key needs.
func requireList(t *testing.T, s *topk.Summary, exact *oracle.Counts, key Key, msg ...any) {
	t.Helper()
	for _, k := range []int{1, 10, 100} {
		require.NoError(t, oracle.TopOf(s, k).Law(exact, k), msg...)
	}
	if s.Capacity() >= key.Residents {
		require.NoError(t, oracle.TopOf(s, 10).Same(exact, 10), msg...)
	}
	require.Equal(t, exact.Records, s.Records(), msg...)
	distinct, sure := s.Distinct()
	if sure {
		require.EqualValues(t, len(exact.Weights), distinct, msg...)
	} else {
		require.InEpsilon(t, len(exact.Weights), distinct, 0.06, msg...)
	}
}

func TestTheEngineListsEveryKeyOfExactJSON(t *testing.T) {
	eachSet(t, func(t *testing.T, dir, name string, streams []*Stream) {
		exact, err := ReadExact(dir, name)
		require.NoError(t, err)
		for _, s := range streams {
			for k, key := range s.Keys {
				for _, residents := range sizes(key) {
					sum := summarize(t, s.Values[k], residents)
					requireList(t, sum, count(s.Values[k], 0, s.Len()), key, key.Name)
					assertListed(t, exact[s.Name][key.Name], oracle.TopOf(sum, 10))
				}
			}
		}
	})
}

// assertListed holds a list of ten against the file's: place by place the file's count lies within the item's bounds, and
// where no tie could have changed the order, the keys are the file's.
func assertListed(t *testing.T, want Exact, got *oracle.List) {
	t.Helper()
	if !assert.Len(t, got.Items, len(want.Top)) {
		return
	}
	for i, item := range got.Items {
		assert.LessOrEqual(t, item.Lower, want.Top[i].Count)
		assert.GreaterOrEqual(t, item.Estimate, want.Top[i].Count)
		if got.Certified && item.RankCertain && item.ErrorBound == 0 && (i < 9 || want.Next < want.Top[i].Count) {
			assert.Equal(t, want.Top[i].Key, item.Key)
		}
	}
}

func TestTheEngineListsEveryWindow(t *testing.T) {
	eachSet(t, func(t *testing.T, dir, name string, streams []*Stream) {
		windows, err := ReadWindows(dir, name)
		require.NoError(t, err)
		for _, w := range windows {
			key, values, first, end := w.Of(streams)
			for _, residents := range sizes(key) {
				sum := summarize(t, values[first:end], residents)
				requireList(t, sum, count(values, first, end), key, w)
				assertListed(t, w.Exact, oracle.TopOf(sum, 10))
			}
		}
	})
}

func TestMergedMinutesListTheSame(t *testing.T) {
	eachSet(t, func(t *testing.T, _, _ string, streams []*Stream) {
		for _, s := range streams {
			for k, key := range s.Keys {
				residents := max(topk.Residents(100), key.Residents)
				merged := empty(t, max(4096, residents)) // as a gateway does
				for first := 0; first < s.Len(); {
					end := first
					for end < s.Len() && s.Times[end]/int64(time.Minute) == s.Times[first]/int64(time.Minute) {
						end++
					}
					require.NoError(t, merged.Merge(summarize(t, s.Values[k][first:end], residents)))
					first = end
				}
				requireList(t, merged, count(s.Values[k], 0, s.Len()), key, key.Name)
			}
		}
	})
}
