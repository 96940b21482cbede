package rule

import "fmt"

// maxSummaryBytes is what a state leaves to its summary: 16 MiB (wire.MaxBodyBytes) less a definition, a group's name and a
// shard's, each at its longest.
const maxSummaryBytes = 16<<20 - 64<<10 - 64<<10 - 1<<10

// Bytes of an encoded summary at most: of a resident beside its key (tag, length, two counts, a place among the pinned), of
// a cell, and of the rest.
const (
	residentBytes = 1 + 3 + 10 + 10 + 3
	cellBytes     = 10
	headBytes     = 5 << 10
)

// sizeProblem says whether a state of the rule may become too large to travel: it would be counted and never be seen.
func (d *Definition) sizeProblem() Problems {
	residents := d.Residents * (d.MaxKeyBytes + residentBytes)
	cells := d.Shape.Width * d.Shape.Depth * cellBytes
	size := headBytes + residents + cells
	if size <= maxSummaryBytes {
		return nil
	}
	p := Problem{"accuracy", fmt.Errorf("%d residents with keys of up to %d bytes (max_key_bytes) and %d x %d cells (epsilon, delta) may take %d bytes of a state, allowed are %d",
		d.Residents, d.MaxKeyBytes, d.Shape.Width, d.Shape.Depth, size, maxSummaryBytes)}
	if residents > cells {
		p.Key = "max_key_bytes"
	}
	return Problems{p}
}
