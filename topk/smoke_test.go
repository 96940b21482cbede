package topk

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestSmoke(t *testing.T) {
	sh, _ := NewShape(0.001, 0.01, 7)
	s, _ := New(640, sh)
	r := rand.New(rand.NewPCG(1, 2))
	z := rand.NewZipf(r, 1.01, 1, 1000000)
	truth := map[string]uint64{}
	for range 70 {
		var keys []string
		for range 1000 {
			k := fmt.Sprint("tenant-", z.Uint64())
			keys = append(keys, k)
			truth[k]++
		}
		if err := s.AddBatch(keys, nil); err != nil {
			t.Fatal(err)
		}
	}
	for k, f := range truth {
		lo, hi := s.Bounds(k)
		if lo > f || hi < f {
			t.Fatal(k, lo, hi, f)
		}
	}
	b, _ := s.MarshalBinary()
	var u Summary
	if err := u.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	b2, _ := u.MarshalBinary()
	if !bytes.Equal(b, b2) {
		t.Fatal("differ")
	}
	t.Log(len(b), s.Theta(), s.Size(), s.shape)
	n, _ := s.Distinct()
	t.Log(n, len(truth), s.Top(10))
	m, _ := New(4096, sh)
	m.Merge(s)
	m.Merge(&u)
	m.MergeBound(s)
	t.Log(m.Top(3), m.TotalUpper())
	e, _ := New(640, sh)
	e.Expect(s, 128)
	e.Add("x", 1)
	e.Unpin()
	t.Log(e.Size())
}
