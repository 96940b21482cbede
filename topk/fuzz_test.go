package topk

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// FuzzUnmarshal: decoding never panics; what decodes encodes to a summary that is equal, and whatever is then done with it keeps
// every bound.
func FuzzUnmarshal(f *testing.F) {
	for _, s := range samples(f) {
		f.Add([]byte(encode(f, s)))
	}
	for _, m := range malformed(f) {
		f.Add(m.data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, d := range [][]byte{data, mended(data)} {
			if err := hostile(d); err != "" {
				t.Error(err)
			}
		}
	})
}

// mended is data with a check that fits, so that what it says is looked at.
func mended(data []byte) []byte {
	body := data[:max(len(data)-checkSize, 0)]
	return appendCheck(slices.Clone(body), 0)
}

// reused decodes one after the other, whole and broken ones.
var reused Decoder

func marshaled(s *Summary) string {
	data, _ := s.MarshalBinary()
	return string(data)
}

// hostile decodes data and uses what comes of it. It says what went wrong; a refusal is not wrong.
func hostile(data []byte) string {
	var s Summary
	err := s.UnmarshalBinary(data)
	if used, again := reused.Decode(data); fmt.Sprint(err) != fmt.Sprint(again) {
		return fmt.Sprintf("a decoder says %v, UnmarshalBinary %v", again, err)
	} else if err == nil {
		if one, other := marshaled(used), marshaled(&s); one != other {
			return "a decoder that was used before decodes another summary"
		}
	}
	if err != nil {
		if !errors.Is(err, ErrCorrupt) {
			return err.Error()
		}
		return ""
	}
	var checks int
	if broken := invariants(&s, &checks); broken != "" {
		return "decoded: " + broken
	}
	first, _ := s.MarshalBinary()
	var again Summary
	if err := again.UnmarshalBinary(first); err != nil {
		return fmt.Sprintf("its own encoding is refused: %v", err)
	}
	if second, _ := again.MarshalBinary(); string(first) != string(second) {
		return "not equal after a round trip"
	}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"Distinct", func() error { s.Distinct(); return nil }},
		{"Top", func() error { s.Top(10).First(3); return nil }},
		{"Add", func() error { return s.Add("some key", 7) }},
		{"AddBatch", func() error { return s.AddBatch([]string{"a", "b", "some key"}, []uint64{1, 1 << 40, 1 << 62}) }},
		{"Merge", func() error { return s.Merge(&again) }},
		{"Merge with itself", func() error { return s.Merge(&s) }},
		{"Merge with several", func() error { return s.Merge(&again, &s, &again) }},
		{"MergeBound", func() error { return s.MergeBound(&again) }},
		{"Tighten", func() error { s.Tighten(); return nil }},
		{"Flatten", func() error { again.Flatten(); return nil }},
		{"Merge of flat", func() error { return s.Merge(&again) }},
		{"Add", func() error { return s.Add("another key", 1) }},
		{"Prune", func() error { s.Prune(1); return nil }},
		{"Expect", func() error { again.Reset(); again.Expect(&s, 10); return again.Add("a", 1) }},
		{"Unpin", func() error { again.Unpin(); return nil }},
	} {
		if err := step.do(); err != nil && !errors.Is(err, ErrTotal) {
			return step.name + ": " + err.Error()
		}
		for _, x := range []*Summary{&s, &again} {
			if broken := invariants(x, &checks); broken != "" {
				return step.name + ": " + broken
			}
		}
	}
	return ""
}
