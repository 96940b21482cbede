package trendreceiver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/otel-topk/collector/internal/wire"
)

// The epoch of this gateway lies in its storage twice: under another one, what went up before and goes up again would count twice.
var senderKeys = [...]string{"ascent/sender", "ascent/sender/spare"}

// sender is the epoch of this gateway, as long as its storage lives; without one, that of the process. After an error nothing is to
// be read from the storage or written to it.
func (s *storage) sender(ctx context.Context) (wire.Epoch, error) {
	if s == nil {
		return newSender()
	}
	var id wire.Epoch
	var missing []string
	var failed error
	for _, key := range senderKeys {
		value, err := s.depot.Get(ctx, key)
		switch {
		case err != nil:
			failed = errors.Join(failed, fmt.Errorf("%s: %w", key, err))
		case value != nil && len(value) != len(id):
			failed = errors.Join(failed, fmt.Errorf("%s: %d bytes, %d are needed", key, len(value), len(id)))
		case value != nil:
			id = wire.Epoch(value)
			continue
		}
		missing = append(missing, key)
	}
	if len(missing) == len(senderKeys) {
		if failed != nil {
			return id, failed
		}
		var err error
		if id, err = newSender(); err != nil {
			return id, err
		}
	}
	for _, key := range missing {
		s.Set(key, id[:])
	}
	return id, nil
}

func newSender() (id wire.Epoch, err error) {
	_, err = rand.Read(id[:])
	return id, err
}
