package topk

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

func (w *world) merge(o *world) string {
	before, same := o.bytes(), w == o
	mine := w.bytes()
	err := w.s.Merge(o.s)
	if o.upper() > MaxTotal-w.upper() || o.records > MaxTotal-w.records {
		w.require(errors.Is(err, ErrTotal), "merged beyond the limit: %v", err)
		w.unchanged(mine, "a refused Merge")
		return "Merge refused"
	}
	w.require(err == nil, "Merge: %v", err)
	if !same {
		o.unchanged(before, "Merge into another")
	}
	for key, f := range maps.Clone(o.truth) {
		w.truth[key] += f
	}
	for key := range o.counted {
		w.counted[key] = true
	}
	w.total, w.hidden, w.records = w.total+o.total, w.hidden+o.hidden, w.records+o.records
	w.require(w.s.residents.pinned == 0, "pinned after Merge")
	return "Merge"
}

// mergeBound adds o as a summary that covers w's keys and others: of each key any part may be w's.
func (w *world) mergeBound(o *world, r *rand.Rand) string {
	before, same := o.bytes(), w == o
	mine := w.bytes()
	err := w.s.MergeBound(o.s)
	if o.upper() > MaxTotal-w.upper() {
		w.require(errors.Is(err, ErrTotal), "merged beyond the limit: %v", err)
		w.unchanged(mine, "a refused MergeBound")
		return "MergeBound refused"
	}
	w.require(err == nil, "MergeBound: %v", err)
	if !same {
		o.unchanged(before, "MergeBound into another")
	}
	for key, f := range maps.Clone(o.truth) {
		switch r.IntN(3) {
		case 0:
			w.truth[key] += f
		case 1:
			w.truth[key] += r.Uint64N(f + 1)
		}
	}
	for key := range o.counted {
		w.counted[key] = true
	}
	w.hidden += o.upper()
	return "MergeBound"
}

func (w *world) prune(n int) string {
	want := ordered(w.s)
	want = want[:min(n, len(want))]
	w.s.Prune(n)
	got := ordered(w.s)
	w.require(w.s.Size() == len(want) && len(got) == len(want), "Prune(%d) kept %d of %d", n, w.s.Size(), len(want))
	for i := range got {
		w.require(got[i] == want[i], "Prune(%d) kept %v at %d, want %v", n, got[i], i, want[i])
	}
	return fmt.Sprintf("Prune(%d)", n)
}

// expect tries it as it is, and mostly on an emptied summary, where it does something.
func (w *world) expect(o *world, r *rand.Rand) string {
	if r.IntN(3) > 0 && w != o {
		w.reset()
	}
	n := r.IntN(w.s.capacity + 1)
	empty := w.records == 0 && w.upper() == 0 && w.s.Size() == 0
	before := w.bytes()
	w.s.Expect(o.s, n)
	if !empty || o.s.tail == nil {
		w.unchanged(before, "Expect where it cannot")
		return "Expect refused"
	}
	want := o.s.Top(min(n, w.s.capacity/maxPinned)).Items
	w.require(w.s.Size() == len(want), "Expect(%d) made %d residents", n, w.s.Size())
	for _, it := range want {
		i := w.s.residents.find(identify(it.Key, w.s.shape.Seed))
		w.require(i >= 0 && w.s.residents.cold[i].pinned && w.s.residents.estimate(i) == 0, "%q is not expected", it.Key)
	}
	return fmt.Sprintf("Expect(%d)", n)
}

func (w *world) unpin() string {
	want := ordered(w.s)
	w.s.Unpin()
	w.require(w.s.Size() == len(want) && w.s.residents.pinned == 0, "Unpin left %d residents, %d pinned, want %d", w.s.Size(), w.s.residents.pinned, len(want))
	return "Unpin"
}

func (w *world) tighten() string {
	before := w.s.Theta()
	w.s.Tighten()
	w.require(w.s.Theta() <= before, "Tighten raised theta")
	return "Tighten"
}

// flatten changes nothing but what is known of keys that are not resident.
func (w *world) flatten() string {
	tight := w.clone()
	tight.s.Tighten()
	want := ordered(w.s)
	w.s.Flatten()
	w.require(slices.Equal(ordered(w.s), want), "Flatten changed a resident")
	w.require(w.s.theta == tight.s.theta, "Flatten left theta at %d, Tighten at %d", w.s.theta, tight.s.theta)
	for key := range w.truth {
		if k := identify(key, w.s.shape.Seed); w.s.residents.find(k) < 0 {
			w.require(w.s.least(k) == w.s.theta, "%q reads %d after Flatten, theta is %d", key, w.s.least(k), w.s.theta)
		}
	}
	return "Flatten"
}

// marshal goes on with what was decoded.
func (w *world) marshal() string {
	data := w.bytes()
	s := new(Summary)
	err := s.UnmarshalBinary(data)
	w.require(err == nil, "unmarshal: %v", err)
	again, err := s.AppendBinary([]byte("before"))
	w.require(err == nil && bytes.Equal(again, append([]byte("before"), data...)), "bytes differ after a round trip: %v", err)
	w.s = s
	return "Marshal"
}

// cloneOrReset goes on with a clone, while the original changes, or empties it.
func (w *world) cloneOrReset(r *rand.Rand) string {
	if r.IntN(2) == 0 {
		w.reset()
		return "Reset"
	}
	original := w.clone()
	w.s, original.s = original.s, w.s
	before := w.bytes()
	original.prune(r.IntN(3))
	original.s.Reset()
	w.unchanged(before, "a change of the original")
	return "Clone"
}

func (w *world) reset() {
	w.s.Reset()
	clear(w.truth)
	clear(w.counted)
	w.total, w.hidden, w.records = 0, 0, 0
	empty, err := New(w.s.capacity, w.s.shape)
	w.require(err == nil, "New: %v", err)
	data, _ := empty.MarshalBinary()
	w.unchanged(data, "Reset left something in")
}
