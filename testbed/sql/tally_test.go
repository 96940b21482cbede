package sql_test

import (
	"cmp"
	"slices"
	"strconv"
)

// counted is the exact count of a key, which may have several parts.
type counted struct {
	key             []string
	weight, records int64
}

// tally of what of each record counts: its key, or nil, and its weight.
func tally[R any](records []R, of func(*R) (key []string, weight int64)) []counted {
	var all []counted
	for i := range records {
		if key, weight := of(&records[i]); key != nil {
			all = append(all, counted{key, weight, 1})
		}
	}
	byKey := func(a, b counted) int { return slices.Compare(a.key, b.key) }
	slices.SortFunc(all, byKey)
	var sums []counted
	for _, c := range all {
		if n := len(sums); n > 0 && byKey(sums[n-1], c) == 0 {
			sums[n-1].weight += c.weight
			sums[n-1].records++
		} else {
			sums = append(sums, c)
		}
	}
	return sums
}

// top is the first k by weight, and among equals by key.
func top(sums []counted, k int) []counted {
	sorted := slices.Clone(sums)
	slices.SortStableFunc(sorted, func(a, b counted) int { return cmp.Compare(b.weight, a.weight) })
	return sorted[:min(k, len(sorted))]
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// weights as rows of key and weight.
func weights(sums []counted) [][]string {
	var rows [][]string
	for _, c := range sums {
		rows = append(rows, append(slices.Clone(c.key), number(c.weight)))
	}
	return rows
}

// whole rows: key, weight and records.
func whole(sums []counted) [][]string {
	rows := weights(sums)
	for i, c := range sums {
		rows[i] = append(rows[i], number(c.records))
	}
	return rows
}
