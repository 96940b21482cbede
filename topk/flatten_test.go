package topk

import (
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/otel-topk/collector/topk/internal/stream"
)

// An hour of half a million events, pruned to the residents of a minute.
func TestFlatSummaryTakesLittleMoreThanItsResidents(t *testing.T) {
	s := newSummary(t, 4096, standard)
	countBatches(t, s, stream.Zipf("hour", 500_000, 1_000_000, 1, 1))
	s.Prune(640)
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	compressed := func(s *Summary) int { return len(encoder.EncodeAll([]byte(encode(t, s)), nil)) }
	residents := s.Clone()
	residents.tail = nil // the same but for cells and registers
	before, least := compressed(s), compressed(residents)
	s.Flatten()
	flat := compressed(s)
	t.Logf("under zstd: %d bytes, flat %d, of it residents %d; raw %d", before, flat, least, len(encode(t, s)))
	if most := least + registerN*6/8 + 256; flat > most || flat > before*2/3 {
		t.Errorf("%d bytes, of it residents %d and at most six bits a register; before %d", flat, least, before)
	}
}

func TestFlattenLeavesAnExactSummaryAsItIs(t *testing.T) {
	s := samples(t)["exact"]
	before := encode(t, s)
	if s.Flatten(); encode(t, s) != before {
		t.Error("it changed")
	}
}

// What was forgotten stays within the law when it is merged with what was not.
func TestFlatMergesWithWhatIsNotFlat(t *testing.T) {
	for _, name := range []string{"tail", "wide", "exact", "bounded"} {
		flat, other := samples(t)["two-byte"], samples(t)[name]
		bound := flat.Theta() + other.Theta()
		flat.Flatten()
		merge(t, flat, other)
		var checks int
		if broken := invariants(flat, &checks); broken != "" || flat.Theta() > bound && flat.Size() < flat.Capacity() {
			t.Errorf("with %s: %s, theta %d", name, broken, flat.Theta())
		}
	}
}
