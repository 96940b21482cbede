package rule

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"sync"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/ottl"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/ottl/ottlfuncs"
)

// pseudonymBytes of a MAC stand for a value.
const pseudonymBytes = 16

// converters that paths may use: OTTL's own, and Pseudonym.
func converters[T any](secret string) map[string]ottl.Factory[T] {
	functions := ottlfuncs.StandardConverters[T]()
	functions["Pseudonym"] = pseudonym[T](secret)
	return functions
}

type pseudonymArguments[T any] struct {
	Target ottl.Getter[T]
}

// pseudonym is the OTTL converter Pseudonym(value): the first half of the HMAC-SHA256 of the value's text in hexadecimal, keyed by
// secret. Nothing stays nothing. The secret is no part of a rule's text, which travels and is published.
func pseudonym[T any](secret string) ottl.Factory[T] {
	return ottl.NewFactory("Pseudonym", &pseudonymArguments[T]{}, func(_ ottl.FunctionContext, args ottl.Arguments) (ottl.ExprFunc[T], error) {
		if secret == "" {
			return nil, errors.New("a pseudonym needs the secret seed of the processor, and there is none")
		}
		target := args.(*pseudonymArguments[T]).Target
		macs := sync.Pool{New: func() any { return hmac.New(sha256.New, []byte(secret)) }}
		return func(ctx context.Context, record T) (any, error) {
			found, err := target.Get(ctx, record)
			if err != nil {
				return nil, err
			}
			var v value
			switch v.setAny(found); v.kind {
			case absent:
				return nil, nil
			case failed:
				return nil, errors.New("the value has no text")
			}
			mac := macs.Get().(hash.Hash)
			defer macs.Put(mac)
			mac.Reset()
			var b [128]byte
			mac.Write(appendText(b[:0], &v))
			return hex.EncodeToString(mac.Sum(b[:0])[:pseudonymBytes]), nil
		}, nil
	})
}
