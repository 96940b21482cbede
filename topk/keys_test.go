package topk_test

import (
	"slices"
	"testing"

	"github.com/otel-topk/collector/topk"
)

func TestKeysYieldsEveryResidentOnce(t *testing.T) {
	s, err := topk.New(16, topk.Shape{Width: 64, Depth: 3})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"", "a", "b", "\xff"}
	for _, key := range want {
		if err := s.Add(key, 1); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for key := range s.Keys() {
		got = append(got, string(key))
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for range s.Keys() {
		break
	}
}
