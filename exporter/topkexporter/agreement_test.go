package topkexporter

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/topk"
)

// stream is what shards of a rule counted, and the truth.
type stream struct {
	definition *rule.Definition
	merged     *topk.Summary
	truth      map[string]uint64
	total      uint64
}

func drawStream(t *rapid.T, seedRule *rule.Definition) stream {
	d := *seedRule
	d.K = rapid.IntRange(1, 20).Draw(t, "k")
	d.Residents = rapid.IntRange(20, 60).Draw(t, "residents")
	s := stream{definition: &d, truth: map[string]uint64{}}
	keys := rapid.SampledFrom([]int{3, 30, 300}).Draw(t, "keys")
	for range rapid.IntRange(1, 3).Draw(t, "shards") {
		shard, err := topk.New(d.Residents, d.Shape)
		require.NoError(t, err)
		for range rapid.IntRange(0, 400).Draw(t, "records") {
			n := rapid.IntRange(0, keys).Draw(t, "key")
			n = rapid.IntRange(0, n).Draw(t, "skewed")
			key, weight := fmt.Sprint("key", n), rapid.Uint64Range(0, 5).Draw(t, "weight")
			require.NoError(t, shard.Add(key, weight))
			s.truth[key] += weight
			s.total += weight
		}
		if s.merged == nil {
			s.merged = shard
		} else {
			require.NoError(t, s.merged.Merge(shard))
		}
	}
	return s
}

// TestListAndPointCountsAgree: for any stream, over HTTP: certificates are those of Top(k) and true, lower bounds and other add
// up to the total, and what the list says of a key, or of all keys outside it, the point count does not contradict.
func TestListAndPointCountsAgree(t *testing.T) {
	plain := tenants(t)
	rapid.Check(t, func(r *rapid.T) {
		s := drawStream(r, plain)
		p := summed(s.definition, 5*time.Minute, rule.Group{}, s.merged)
		p.pointless = rapid.Bool().Draw(r, "pointless")
		e := shelf(t, p)
		k := rapid.IntRange(1, s.definition.K).Draw(r, "asked")
		var list trend
		require.NoError(r, json.Unmarshal(get(e, fmt.Sprintf("/v1/trending?k=%d", k)).Body.Bytes(), &list))

		want := s.merged.Top(k)
		require.Equal(r, want.Certified, list.Certified)
		require.Len(r, list.Items, len(want.Items))
		sum := list.Other
		listed := map[string]item{}
		for i, it := range list.Items {
			w := want.Items[i]
			require.Equal(r, w, topk.Item{Key: it.Key, Estimate: it.Estimate, Lower: it.Lower, Certain: it.Certain, RankCertain: it.RankCertain})
			require.Equal(r, it.Estimate-it.Lower, it.ErrorBound)
			require.LessOrEqual(r, it.Share, 1.0)
			listed[it.Key] = it
			sum += it.Lower
		}
		require.Equal(r, s.total, list.Total)
		require.Equal(r, list.Total, sum)

		for key, weight := range s.truth {
			var c pointCount
			require.NoError(r, json.Unmarshal(get(e, "/v1/keys/"+key+"/count").Body.Bytes(), &c))
			require.LessOrEqual(r, c.Lower, weight)
			require.LessOrEqual(r, weight, c.Estimate)
			require.Equal(r, c.Estimate-c.Lower, c.ErrorBound)
			if it, ok := listed[key]; ok {
				require.Equal(r, []uint64{it.Lower, it.Estimate}, []uint64{c.Lower, c.Estimate})
				require.Equal(r, it.Rank, *c.Rank)
				continue
			}
			require.LessOrEqual(r, weight, list.Theta)
			require.LessOrEqual(r, c.Lower, list.Theta)
			if k == s.definition.K {
				require.LessOrEqual(r, c.Estimate, list.Theta)
				require.Nil(r, c.Rank)
			}
		}
	})
}
