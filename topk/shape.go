package topk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/zeebo/xxh3"
)

// Limits of a Summary. With them no sum of two accepted summaries wraps, and no accepted shape asks for more than 32 MiB of cells.
const (
	MaxTotal     = 1 << 63   // weight, and also records, of one Summary
	MaxKeyBytes  = 1<<16 - 1 // of one key
	MaxResidents = 1 << 15   // capacity of one Summary
	MaxWidth     = 1 << 18   // cells in a row of the tail: epsilon from 0.0000104
	MaxDepth     = 16        // rows of the tail: delta from 0.00000012
)

// Errors; a Summary is as it was before the call that returned one.
var (
	ErrTotal   = errors.New("topk: total weight or records would pass 2^63")
	ErrKey     = errors.New("topk: a key is longer than 65535 bytes")
	ErrShape   = errors.New("topk: shapes differ")
	ErrCorrupt = errors.New("topk: not a summary")
)

// Shape is what two summaries must share to merge.
type Shape struct {
	Width, Depth int    // of the Count-Min tail
	Seed         uint64 // of the key hash; one for a fleet, secret where keys are hostile
}

// NewShape makes the tail overcount a key by more than epsilon of the total with a probability of at most delta
// (Cormode and Muthukrishnan 2005): width ceil(e/epsilon), depth ceil(ln(1/delta)). Epsilon 0.001 and delta 0.01
// give 2,719 x 5.
func NewShape(epsilon, delta float64, seed uint64) (Shape, error) {
	width, depth := math.Ceil(math.E/epsilon), math.Ceil(math.Log(1/delta))
	var errs []error
	if !(epsilon > 0 && epsilon < 1 && width <= MaxWidth) {
		errs = append(errs, fmt.Errorf("epsilon is %v, allowed is %.3g to below 1", epsilon, math.E/MaxWidth))
	}
	if !(delta > 0 && delta < 1 && depth <= MaxDepth) {
		errs = append(errs, fmt.Errorf("delta is %v, allowed is %.3g to below 1", delta, math.Exp(-MaxDepth)))
	}
	if len(errs) > 0 {
		return Shape{}, errors.Join(errs...)
	}
	return Shape{Width: int(width), Depth: int(depth), Seed: seed}, nil
}

// Residents is the default size of the exact table for lists of k: max(640, 6k).
func Residents(k int) int { return max(640, 6*k) }

// String tells seeds apart by 16 bits of their hash; the seed itself is never printed.
func (sh Shape) String() string {
	var seed [8]byte
	binary.LittleEndian.PutUint64(seed[:], sh.Seed)
	return fmt.Sprintf("%d x %d, seed #%04x", sh.Width, sh.Depth, uint16(xxh3.Hash(seed[:])))
}

// GoString is String, so that %#v does not print the seed either.
func (sh Shape) GoString() string { return sh.String() }

func (sh Shape) validate() error {
	var errs []error
	if sh.Width < 1 || sh.Width > MaxWidth {
		errs = append(errs, fmt.Errorf("width is %d, allowed is 1 to %d", sh.Width, MaxWidth))
	}
	if sh.Depth < 1 || sh.Depth > MaxDepth {
		errs = append(errs, fmt.Errorf("depth is %d, allowed is 1 to %d", sh.Depth, MaxDepth))
	}
	return errors.Join(errs...)
}

// cells of the tail.
func (sh Shape) cells() int { return sh.Width * sh.Depth }
