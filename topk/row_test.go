package topk

import (
	"slices"
	"strconv"
	"testing"
)

// In each row any two keys meet with a probability of at most 1.1/width; in two rows that multiply the same half of the
// identity both meet with at most 1.1/width^2; and no two keys share all rows.
func TestKeysRarelyMeetInTheRows(t *testing.T) {
	n := 10_000_000
	if testing.Short() || raceEnabled {
		n = 1_000_000
	}
	s := newSummary(t, 1, standard)
	const width = 2719
	var rows [5][width]uint32
	type pair struct {
		a, b int
		met  []uint16
	}
	pairs := []pair{{a: 0, b: 2}, {a: 0, b: 4}, {a: 2, b: 4}, {a: 1, b: 3}}
	for i := range pairs {
		pairs[i].met = make([]uint16, width*width)
	}
	full := make([]uint64, n) // five rows of 12 bits
	key := []byte("tenant-")
	for i := range n {
		k := identify(string(strconv.AppendInt(key, int64(i), 10)), 0)
		var at [5]uint64
		for r := range at {
			at[r] = s.at(k, r) - uint64(r)*width
			rows[r][at[r]]++
			full[i] = full[i]<<12 | at[r]
		}
		for _, p := range pairs {
			p.met[at[p.a]*width+at[p.b]]++
		}
	}
	for r := range rows {
		if p := meet(rows[r][:], n) * width; p > 1.1 {
			t.Errorf("row %d: two keys meet %.3f times as often as they should", r, p)
		}
	}
	for _, p := range pairs {
		if often := meet(p.met, n) * width * width; often > 1.1 {
			t.Errorf("rows %d and %d: two keys meet in both %.3f times as often as they should", p.a, p.b, often)
		}
	}
	slices.Sort(full)
	if twins := n - len(slices.Compact(full)); twins > 0 {
		t.Errorf("%d keys share all five rows with another", twins)
	}
}

// meet is how likely two of n keys share a cell.
func meet[C uint16 | uint32](cells []C, n int) (p float64) {
	for _, c := range cells {
		p += float64(c) * (float64(c) - 1) / (float64(n) * float64(n-1))
	}
	return p
}

func TestEveryRowOfTheDeepestShapeIsEven(t *testing.T) {
	const n, width = 200_000, 64
	s := newSummary(t, 1, Shape{Width: width, Depth: MaxDepth})
	var cells [MaxDepth * width]uint32
	for i := range n {
		k := identify(strconv.Itoa(i), 0)
		for r := range MaxDepth {
			cells[s.at(k, r)]++
		}
	}
	for r := range MaxDepth {
		if p := meet(cells[r*width:(r+1)*width], n) * width; p > 1.1 {
			t.Errorf("row %d: two keys meet %.3f times as often as they should", r, p)
		}
	}
}

func TestRowMultipliersAreSplitMix64(t *testing.T) {
	var state uint64
	for r, got := range rowMul {
		state += 0x9e3779b97f4a7c15
		z := (state ^ state>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		if want := z ^ z>>31 | 1; got != want {
			t.Errorf("row %d: %#x, want %#x", r, got, want)
		}
	}
}
