package topk

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata")

// samples are summaries of every kind, the same at every run.
func samples(tb testing.TB) map[string]*Summary {
	tb.Helper()
	shape := Shape{Width: 16, Depth: 3, Seed: 0x0123456789abcdef}
	count := func(residents, keys int, weight uint64) *Summary {
		s := newSummary(tb, residents, shape)
		for i := range keys {
			add(tb, s, fmt.Sprintf("key %d", i), weight*uint64(1+i%7))
		}
		return s
	}
	expected := newSummary(tb, 16, shape)
	expected.Expect(count(16, 100, 1), 4)
	add(tb, expected, "now", 1)
	bounded := count(16, 20, 3)
	if err := bounded.MergeBound(count(16, 50, 1)); err != nil {
		tb.Fatal(err)
	}
	flat := count(16, 100, 100)
	flat.Flatten()
	return map[string]*Summary{
		"empty":    newSummary(tb, 16, Shape{Width: 16, Depth: 3}),
		"exact":    count(16, 10, 200),
		"tail":     count(16, 100, 1),
		"two-byte": count(16, 100, 100),
		"wide":     count(16, 100, 1<<40),
		"expected": expected,
		"bounded":  bounded,
		"flat":     flat,
	}
}

func TestEncodingIsThatOfTestdata(t *testing.T) {
	for name, s := range samples(t) {
		path := filepath.Join("testdata", name+".bin")
		got := []byte(encode(t, s))
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: %x\nwant %x", name, got, want)
		}
		var decoded Summary
		if err := decoded.UnmarshalBinary(want); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if a, b := decoded.Top(16), s.Top(16); a.Theta != b.Theta || a.Next != b.Next || !slices.Equal(a.Items, b.Items) {
			t.Errorf("%s: %v, want %v", name, a, b)
		}
		if decoded.Shape() != s.Shape() || decoded.Capacity() != s.Capacity() || decoded.Total() != s.Total() ||
			decoded.TotalUpper() != s.TotalUpper() || decoded.Records() != s.Records() {
			t.Errorf("%s: other totals", name)
		}
	}
}

// The order in which residents came does not show.
func TestSameStateGivesTheSameBytes(t *testing.T) {
	var first string
	for turn := range 10 {
		s := newSummary(t, 100, small)
		for i := range 50 {
			add(t, s, fmt.Sprint((i+5*turn)%50), uint64(1+(i+5*turn)%50%3))
		}
		if got := encode(t, s); first == "" {
			first = got
		} else if got != first {
			t.Errorf("turn %d gives other bytes", turn)
		}
	}
}

func TestMalformedInputIsRefusedAndChangesNothing(t *testing.T) {
	s := samples(t)["tail"]
	before := encode(t, s)
	for _, m := range malformed(t) {
		allocated, err := allocatedBy(func() error { return s.UnmarshalBinary(m.data) })
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), m.want) {
			t.Errorf("%s: %v, want %q", m.name, err, m.want)
		}
		if most := allocationBound(m.data); allocated > most {
			t.Errorf("%s: %d bytes allocated for %d", m.name, allocated, len(m.data))
		}
		if encode(t, s) != before {
			t.Fatalf("%s: the receiver changed", m.name)
		}
	}
}

func allocationBound(data []byte) uint64 { return 64*uint64(len(data)) + 8192 }

func allocatedBy(f func() error) (uint64, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, err
}

func TestDecodingAllocatesInProportion(t *testing.T) {
	all := samples(t)
	all["many short keys"] = newSummary(t, 20_000, small)
	for i := range 20_000 {
		add(t, all["many short keys"], string([]byte{byte(i >> 8), byte(i)}), 1)
	}
	for name, s := range all {
		data := []byte(encode(t, s))
		var decoded Summary
		allocated, err := allocatedBy(func() error { return decoded.UnmarshalBinary(data) })
		if err != nil || allocated > allocationBound(data) {
			t.Errorf("%s: %d bytes allocated for %d: %v", name, allocated, len(data), err)
		}
	}
}

// M5
func TestTruncatedInputIsRefused(t *testing.T) {
	for name, s := range samples(t) {
		data := []byte(encode(t, s))
		for n := range data {
			if err := new(Summary).UnmarshalBinary(data[:n]); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%s: the first %d bytes of %d: %v", name, n, len(data), err)
			}
		}
	}
}

// Each flipped bit is refused; and if one mends the check, it is refused for what it says or leaves a summary that keeps every
// bound, whatever is done with it.
func TestFlippedBitsAreRefusedOrHarmless(t *testing.T) {
	step := 1
	if testing.Short() || raceEnabled {
		step = 7
	}
	for name, s := range samples(t) {
		data := []byte(encode(t, s))
		for i := 0; i < 8*len(data); i += step {
			if i == 8*1500 && len(data) > 4096 {
				i = 8 * (len(data) - 100) // most registers are alike
			}
			data[i/8] ^= 1 << (i % 8)
			if err := new(Summary).UnmarshalBinary(data); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%s: bit %d: %v", name, i, err)
			}
			if err := hostile(mended(data)); err != "" {
				t.Fatalf("%s: bit %d: %s", name, i, err)
			}
			data[i/8] ^= 1 << (i % 8)
		}
	}
}
