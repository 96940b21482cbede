package topk_test

import (
	"fmt"
	"slices"
	"strings"
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

func TestKeyBytesAreThoseOfTheResidents(t *testing.T) {
	s, o := full(t, "a"), full(t, "other-")
	for i := range 40 {
		if err := s.Add(strings.Repeat("k", i%13)+fmt.Sprint(i), uint64(i+1)); err != nil {
			t.Fatal(err)
		}
		switch i % 20 {
		case 9:
			if err := s.Merge(o); err != nil {
				t.Fatal(err)
			}
		case 17:
			s.Prune(3)
		}
		n := 0
		for key := range s.Keys() {
			n += len(key)
		}
		if n != s.KeyBytes() {
			t.Fatalf("%d bytes, want %d", s.KeyBytes(), n)
		}
	}
}

func full(t *testing.T, prefix string) *topk.Summary {
	s, err := topk.New(8, topk.Shape{Width: 16, Depth: 2})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		if err := s.Add(fmt.Sprint(prefix, i), uint64(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}
