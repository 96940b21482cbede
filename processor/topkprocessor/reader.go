package topkprocessor

import (
	"errors"

	"github.com/otel-topk/collector/internal/field"
)

// errStored is of a stored value that was written whole and does not follow FORMAT.md.
var errStored = errors.New("topk: a stored value does not follow its format")

// whole is an error unless all was read, and well.
func whole(r *field.Reader) error {
	if !r.Whole() {
		return errStored
	}
	return nil
}
