package board

import (
	"fmt"
	"math"

	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

// The law of weight. What one definition counts in one minute weighs at most minuteWeight, so no window can pass topk.MaxTotal
// and nothing that was taken is ever left out of a list. Half of it is shared evenly among all sets that a minute may have:
// a set within its share is always taken. What it weighs beyond comes from a pool, the other half; a set may have half of
// what the others have left there, so that one cannot take it all.

const (
	minuteWeight = topk.MaxTotal / uint64(wire.MaxWindow/window.Bucket)
	poolWeight   = minuteWeight / 2
)

// maxSets is how many sets one minute of a definition may have: each shard's, and of each one that it was before a restart.
func (c Config) maxSets() int { return 2 * c.MaxEpochs }

// drawn is what a set of some weight takes out of the pool.
func (b *Board) drawn(weight uint64) uint64 {
	return weight - min(weight, b.cfg.share())
}

// share of one set.
func (c Config) share() uint64 { return (minuteWeight - poolWeight) / uint64(c.maxSets()) }

// admitWeight says whether a set may grow from one weight to another.
func (b *Board) admitWeight(m *minute, before, after uint64) error {
	was, is := b.drawn(before), b.drawn(after)
	if is <= was {
		return nil
	}
	others := uint64(0)
	if m != nil {
		others = m.drawn - was
	}
	if free := (poolWeight - min(others, poolWeight)) / 2; is > free {
		b.stats.TooHeavy++
		return fmt.Errorf("%w: this shard's states of one minute and rule weigh %d, at most %d are taken now", ErrWeight, after, after-is+free)
	}
	return nil
}

// weightOf is what a state adds to sums: weight or records, whichever is more.
func weightOf(s *wire.State) uint64 {
	if s.Summary == nil {
		return s.Weight
	}
	return max(s.Weight, s.Summary.TotalUpper(), s.Summary.Records())
}

// weigh notes that a set's weight has changed.
func (b *Board) weigh(m *minute, at *set, weight uint64) {
	m.drawn = m.drawn - b.drawn(at.weight) + b.drawn(weight)
	at.weight = weight
}

// mostSets is how many sets a board knows of at most, live ones and those that were folded and would be known if they came again.
const mostSets = 1 << 25

// maxIdentities is how many it may know of.
func (c Config) maxIdentities() int {
	minutes := int((c.Retain + setBack + aheadLimit) / window.Bucket)
	sets := float64(c.maxSets()) * float64(c.MaxRules) * float64(minutes+2)
	return int(math.Min(sets, mostSets))
}

// admitSet says whether there is room for one more set in m.
func (b *Board) admitSet(m *minute) error {
	most, n := b.cfg.maxIdentities(), b.identities
	if m != nil {
		if of := len(m.sets) + len(m.folded); of >= b.cfg.maxSets() {
			most, n = b.cfg.maxSets(), of
		}
	}
	if n < most {
		return nil
	}
	b.stats.Overloaded++
	return fmt.Errorf("%w: %d minutes of shards are known, at most %d may be until retain, %v", ErrOverloaded, n, most, b.cfg.Retain)
}
