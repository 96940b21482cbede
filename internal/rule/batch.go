package rule

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// Batch is what one rule found in one request, as columns of equal length. It is reused: Reset keeps its memory. Keys and
// group names may share memory with the records or with each other: who keeps one for long clones it. Not safe for
// concurrent use, and not to be copied.
type Batch struct {
	Keys    []string
	Weights []uint64 // nil: 1 each
	Groups  []Group  // nil: the rule has no group_by
	Times   []int64  // event time, Unix nanoseconds
	Skipped Skipped
	Err     error // an OTTL expression failed, and error_mode is propagate

	// Sizes is set by the caller before a walk: those of the records in the order of the walk, for weight bytes where the records
	// are not whole. nil: they are measured.
	Sizes []int

	// KeepAttributes is set by the caller before a walk: Attributes are those of the records that the walk found, which may be changed
	// until the next walk. false: they are not kept.
	KeepAttributes bool
	Attributes     []pcommon.Map

	weights []uint64 // kept while Weights is nil
	groups  []Group  // kept while Groups is nil
	held    held
	logs    logCursor
	spans   spanCursor
	events  eventCursor
	points  pointCursor
}

// Reset empties b and lets go of the records it was filled from.
func (b *Batch) Reset() {
	clear(b.Keys)
	b.Keys, b.Times = b.Keys[:0], b.Times[:0]
	if b.Weights != nil {
		b.weights, b.Weights = b.Weights[:0], nil
	}
	if b.Groups != nil {
		clear(b.Groups)
		b.groups, b.Groups = b.Groups[:0], nil
	}
	clear(b.Attributes)
	b.Attributes = b.Attributes[:0]
	b.Skipped, b.Err, b.Sizes = Skipped{}, nil, nil
	b.held.forget()
}

// Forget the records of b, as if they had not been found, and not what was skipped.
func (b *Batch) Forget() {
	skipped, err := b.Skipped, b.Err
	b.Reset()
	b.Skipped, b.Err = skipped, err
}

// Skipped counts what the rule looked at and did not count, each record under one reason, and what it counted but had to change. Its
// JSON is a contract: it is in answers, and in the footers of exact tables.
type Skipped struct {
	Unmatched  uint64 `json:"unmatched"`   // no condition held
	MissingKey uint64 `json:"missing_key"` // a part of the key is missing and there is no default
	BadWeight  uint64 `json:"bad_weight"`  // missing, not a number, not finite, negative, or more than MaxWeight
	Errors     uint64 `json:"errors"`      // an OTTL expression failed
	CutKeys    uint64 `json:"cut_keys"`    // counted, but under a cut key or group name
	Repaired   uint64 `json:"repaired"`    // counted, but the key or group name held invalid UTF-8
}

// Add what another count skipped.
func (s *Skipped) Add(other Skipped) {
	s.Unmatched += other.Unmatched
	s.MissingKey += other.MissingKey
	s.BadWeight += other.BadWeight
	s.Errors += other.Errors
	s.CutKeys += other.CutKeys
	s.Repaired += other.Repaired
}

// changed notes a record that is counted.
func (s *Skipped) changed(c counted) {
	if c.cut {
		s.CutKeys++
	}
	if c.repaired {
		s.Repaired++
	}
}

// textChunk is how much rendered text is allocated at once.
const textChunk = 32 << 10

// arena makes strings of rendered text with one allocation for each textChunk of them.
type arena struct{ chunk strings.Builder }

func (a *arena) string(p []byte) string {
	if a.chunk.Cap()-a.chunk.Len() < len(p) {
		a.chunk.Reset()
		a.chunk.Grow(max(textChunk, len(p)))
	}
	from := a.chunk.Len()
	a.chunk.Write(p)
	return a.chunk.String()[from:]
}
