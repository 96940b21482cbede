package trendreceiver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/otel-topk/collector/internal/board"
	"github.com/otel-topk/collector/internal/wire"
)

const (
	// namedRefusals is how many refusals an answer tells the reasons of.
	namedRefusals = 3

	// comeAgain is when a shard that found no place, or whose states could not be stored, should try again.
	comeAgain = 10 * time.Second

	reasonOverloaded = "overloaded"
)

// refusals are the records of one request that were not taken.
type refusals struct {
	n        int
	texts    []string // of the first ones; they hold no data of a record
	byReason map[string]refusal
	overload bool
}

// refusal is what was refused for one reason.
type refusal struct {
	n     int64
	first error
}

func (r *refusals) add(position int, err error) {
	r.n++
	if len(r.texts) < namedRefusals {
		r.texts = append(r.texts, fmt.Sprintf("record %d: %v", position, err))
	}
	reason := reasonOf(err)
	if reason == reasonOverloaded {
		r.overload = true
	}
	if r.byReason == nil {
		r.byReason = map[string]refusal{}
	}
	of := r.byReason[reason]
	if of.n++; of.first == nil {
		of.first = err
	}
	r.byReason[reason] = of
}

// status is what the sender is told of a request of that many records: nil, or a status that says whether to send it again.
func (r *refusals) status(records int) error {
	if r.n == 0 {
		return nil
	}
	text := fmt.Sprintf("%d of %d records refused: %s", r.n, records, strings.Join(r.texts, "; "))
	if r.n > len(r.texts) {
		text += "; ..."
	}
	if !r.overload {
		return status.Error(codes.InvalidArgument, text)
	}
	return again(codes.ResourceExhausted, text)
}

// notStored is what the sender is told of a request that is counted, but would not outlast the process.
func notStored(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	return again(codes.Unavailable, "counted, but the storage does not take it",
		&errdetails.ErrorInfo{Reason: wire.NotStored, Domain: wire.Domain})
}

// again is a status that asks the sender to come again.
func again(code codes.Code, text string, details ...protoadapt.MessageV1) error {
	s := status.New(code, text)
	details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(comeAgain)})
	if detailed, err := s.WithDetails(details...); err == nil {
		s = detailed
	}
	return s.Err()
}

// reasonOf is the value of the metric attribute reason; metadata.yaml lists all.
func reasonOf(err error) string {
	var refused *wire.Refusal
	switch {
	case errors.As(err, &refused):
		return string(refused.Reason)
	case errors.Is(err, errRequest):
		return "request"
	case errors.Is(err, board.ErrOverloaded):
		return reasonOverloaded
	case errors.Is(err, board.ErrRules):
		return "rules"
	case errors.Is(err, board.ErrWeight):
		return "weight"
	case errors.Is(err, board.ErrLoop):
		return "loop"
	case errors.Is(err, board.ErrTooLate):
		return "too_late"
	case errors.Is(err, board.ErrTooEarly):
		return "too_early"
	}
	return string(wire.ReasonInvalid)
}
