package wire

import "fmt"

// Reason says in a word why a record is refused; it is the value of a metric attribute.
type Reason string

// Reasons.
const (
	ReasonForeign   Reason = "foreign"   // no record of this format
	ReasonVersion   Reason = "version"   // of a format version that is not known here
	ReasonTooLarge  Reason = "too_large" // passes a limit
	ReasonMalformed Reason = "malformed" // the bytes do not decode
	ReasonInvalid   Reason = "invalid"   // a field holds what it must not
)

// Refusal is the error of a record that does not decode. Its text never holds a record's data.
type Refusal struct {
	Reason Reason
	text   string
	cause  error
}

func (r *Refusal) Error() string { return r.text }
func (r *Refusal) Unwrap() error { return r.cause }

func refuse(reason Reason, format string, args ...any) *Refusal {
	err := fmt.Errorf(format, args...)
	return &Refusal{Reason: reason, text: err.Error(), cause: err}
}

func tooLarge(field string, n, limit int) *Refusal {
	return refuse(ReasonTooLarge, "%s: %d bytes, at most %d are allowed", field, n, limit)
}
