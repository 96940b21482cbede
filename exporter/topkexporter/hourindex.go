package topkexporter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
)

// encode makes the value that says what is kept of an hour; FORMAT.md specifies it.
func (at *hour) encode(e *era) []byte {
	definition, err := wire.EncodeDefinition(e.definition)
	if err != nil {
		return nil // cannot be: it was decoded
	}
	b := appendText(nil, string(definition))
	b = binary.AppendUvarint(b, uint64(at.start/oneHour))
	b = binary.AppendVarint(b, at.received.UnixNano())
	b = binary.AppendVarint(b, at.reasonedAt)
	b = binary.AppendUvarint(b, uint64(len(at.reasons)))
	for _, reason := range at.reasons {
		b = appendText(b, reason)
	}
	b = binary.AppendUvarint(b, uint64(at.next))
	b = binary.AppendUvarint(b, uint64(len(at.entries)))
	for i := range at.entries {
		known := &at.entries[i]
		b = appendGroup(b, e.groups.groups[known.group])
		b = binary.AppendUvarint(b, uint64(known.slot))
		b = binary.AppendUvarint(b, uint64(known.size))
		b = binary.AppendUvarint(b, known.total)
		b = binary.AppendUvarint(b, known.hash)
		b = binary.AppendVarint(b, known.asOf)
	}
	return compress(b)
}

// indexed is what encode was given.
type indexed struct {
	definition *rule.Definition
	hour
	groups       []rule.Group // of entries
	encodedBytes int
}

var errIndex = errors.New("no index of an hour")

// decodeIndex reads what encode made.
func decodeIndex(value []byte, bodies *wire.Bodies) (*indexed, error) {
	expanded, err := expand(value, nil)
	if err != nil {
		return nil, err
	}
	in := reader{b: expanded}
	x := &indexed{encodedBytes: len(value)}
	if x.definition, err = bodies.Definition(in.text()); err != nil {
		return nil, fmt.Errorf("definition: %w", err)
	}
	x.start = window.Minute(in.number(uint64(lastHour/oneHour))) * oneHour
	x.received = time.Unix(0, in.signed())
	x.reasonedAt = in.signed()
	for range in.number(wire.MaxReasons) {
		x.reasons = append(x.reasons, string(in.text()))
	}
	x.next = uint32(in.number(math.MaxUint32))
	for range in.number(uint64(len(in.b))) { // an entry takes more than a byte
		g := rule.Group{Scope: rule.Scope(in.number(uint64(rule.ScopeOverflow))), Name: string(in.text())}
		known := entry{
			slot: uint32(in.number(uint64(x.next))), size: uint32(in.number(math.MaxUint32)),
			total: in.number(math.MaxUint64), hash: in.number(math.MaxUint64), asOf: in.signed(),
		}
		if in.failed {
			break
		}
		x.entries, x.groups = append(x.entries, known), append(x.groups, g)
	}
	if in.failed || len(in.b) > 0 {
		return nil, errIndex
	}
	return x, nil
}

// reader takes numbers and texts off b. Once it has failed it gives zero values.
type reader struct {
	b      []byte
	failed bool
}

func (r *reader) number(most uint64) uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > most {
		r.failed, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) signed() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.failed, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) text() []byte {
	n := r.number(uint64(len(r.b)))
	text := r.b[:min(n, uint64(len(r.b)))]
	if uint64(len(text)) < n {
		r.failed, r.b = true, nil
		return nil
	}
	r.b = r.b[len(text):]
	return text
}
