package rule

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"

	"github.com/otel-topk/collector/topk"
)

// Definition is what of a rule travels with its summaries: enough to merge, to list, to look a key up and to say what was
// counted, without the configuration.
type Definition struct {
	Name        string
	Signals     []string // "logs", "traces", "metrics"
	Key         []string // path texts as configured
	GroupBy     string
	Weight      string // "1", "bytes" or a path
	WeightScale float64
	Conditions  []string
	Default     *string // counted where the key is missing
	Time        string  // "", or "start"
	K           int
	MaxKeyBytes int
	Residents   int // of a shard's summary
	Shape       topk.Shape
}

// Grouped says whether the rule has a group_by.
func (d *Definition) Grouped() bool { return d.GroupBy != "" }

// Fingerprint is 32 hex digits over everything that decides what is counted and whether it merges: all but Name, K and
// Residents. It is one-way, since it covers the seed.
func (d *Definition) Fingerprint() string {
	var b []byte
	str := func(s string) { b = append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	list := func(items []string) {
		b = binary.AppendUvarint(b, uint64(len(items)))
		for _, s := range items {
			str(s)
		}
	}
	list(slices.Sorted(slices.Values(d.Signals)))
	list(d.Key)
	str(d.GroupBy)
	str(d.Weight)
	b = binary.BigEndian.AppendUint64(b, math.Float64bits(d.WeightScale))
	list(d.Conditions)
	if d.Default == nil {
		list(nil)
	} else {
		list([]string{*d.Default})
	}
	str(d.Time)
	for _, n := range []uint64{uint64(d.MaxKeyBytes), uint64(d.Shape.Width), uint64(d.Shape.Depth), d.Shape.Seed} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}
