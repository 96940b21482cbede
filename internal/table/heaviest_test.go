package table

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHeaviestKeepsTheFirstRowsInTheOrderOfLists(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var rows []Row
		for i := range rng.IntN(40) {
			rows = append(rows, Row{Key: fmt.Sprint(i), Weight: rng.Uint64N(6)})
		}
		rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		h := Heaviest{Most: rng.IntN(12)}
		for _, row := range rows {
			before := slices.Clone(h.rows)
			takes := h.Takes(row.Weight, []byte(row.Key))
			h.Add(row)
			require.Equal(t, takes, !slices.Equal(before, h.rows))
		}
		want := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Weight == 0 })
		slices.SortFunc(want, Heavier)
		want = want[:min(h.Most, len(want))]
		require.True(t, slices.Equal(want, h.Rows()), "%v, not %v", h.rows, want)
	}
}
