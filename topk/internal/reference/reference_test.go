package reference

import (
	"fmt"
	"slices"
	"testing"
)

func TestExactCountsAndLists(t *testing.T) {
	e := NewExact(3)
	for i := range 10 {
		for range i + 1 {
			e.Add(fmt.Sprint(i), 2)
		}
	}
	e.Add("0", 100)
	if got := e.Top(); !slices.Equal(got, []string{"0", "9", "8"}) {
		t.Errorf("top %v", got)
	}
	for key, want := range map[string]uint64{"0": 102, "5": 12, "none": 0} {
		if got := e.Count(key); got != want {
			t.Errorf("%s counts %d, want %d", key, got, want)
		}
	}
}

func TestTextbookFindsTheHeavyKeys(t *testing.T) {
	b := NewTextbook(2719, 3)
	for i := range 3000 {
		b.Add(fmt.Sprint("rare ", i), 1)
		b.Add(fmt.Sprint("heavy ", i%3), uint64(1+i%3))
	}
	if got := b.Top(); !slices.Equal(got, []string{"heavy 2", "heavy 1", "heavy 0"}) {
		t.Errorf("top %v", got)
	}
}
