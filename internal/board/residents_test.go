package board

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/topk"
)

// TestGroupsOfAShardsSizeListAsWell: what docs/decisions/0004 says. Merged summaries of a group keep as many residents as a shard
// does; with the 4,096 of the global list theta, the list and its certificates would be the same.
func TestGroupsOfAShardsSizeListAsWell(t *testing.T) {
	d := ungrouped(t, "rule")
	d.K = 100
	few, many := empty(d.Shape, d.Residents), empty(d.Shape, mergedResidents)
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 1, 1e6)
	var shards [4]*topk.Summary
	for range 30 {
		minute := map[*topk.Summary]*topk.Summary{few: empty(d.Shape, d.Residents), many: empty(d.Shape, mergedResidents)}
		for i, before := range shards {
			s := empty(d.Shape, d.Residents)
			if before != nil {
				s.Expect(before, 128)
			}
			for range 3000 {
				require.NoError(t, s.Add(fmt.Sprint("key-", zipf.Uint64()), 1))
			}
			for _, sum := range minute {
				require.NoError(t, sum.Merge(s))
			}
			shards[i] = s
		}
		for sum, m := range minute {
			require.NoError(t, sum.Merge(m))
		}
	}
	few.Tighten()
	many.Tighten()
	assert.Positive(t, many.Theta())
	assert.LessOrEqual(t, float64(few.Theta()), 1.05*float64(many.Theta()))
	for k := 10; k <= 100; k += 10 {
		a, b := few.Top(k), many.Top(k)
		assert.Equal(t, b.Certified, a.Certified, k)
		for i := range a.Items {
			assert.Equal(t, b.Items[i].Key, a.Items[i].Key)
		}
	}
	assert.Less(t, few.Size(), many.Size()/5)
}
