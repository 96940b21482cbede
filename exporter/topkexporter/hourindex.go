package topkexporter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/otel-topk/collector/internal/field"
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
	b := field.AppendText(nil, definition)
	b = binary.AppendUvarint(b, uint64(at.start/oneHour))
	b = binary.AppendVarint(b, at.received.UnixNano())
	b = binary.AppendVarint(b, at.reasonedAt)
	b = binary.AppendUvarint(b, uint64(len(at.reasons)))
	for _, reason := range at.reasons {
		b = field.AppendText(b, reason)
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
	in := field.New(expanded)
	x := &indexed{encodedBytes: len(value)}
	if x.definition, err = bodies.Definition(in.Text(wire.MaxDefinitionBytes)); err != nil {
		return nil, fmt.Errorf("definition: %w", err)
	}
	x.start = window.Minute(in.UpTo(uint64(lastHour/oneHour))) * oneHour
	x.received = time.Unix(0, in.Int())
	x.reasonedAt = in.Int()
	for range in.UpTo(wire.MaxReasons) {
		x.reasons = append(x.reasons, string(in.Text(wire.MaxReasonBytes)))
	}
	x.next = uint32(in.UpTo(math.MaxUint32))
	for range in.UpTo(uint64(len(in.Rest()))) { // an entry takes more than a byte
		g := rule.Group{Scope: rule.Scope(in.UpTo(uint64(rule.ScopeOverflow))), Name: string(in.Text(math.MaxUint16))}
		known := entry{
			slot: uint32(in.UpTo(uint64(x.next))), size: uint32(in.UpTo(math.MaxUint32)),
			total: in.Uint(), hash: in.Uint(), asOf: in.Int(),
		}
		if in.Broken() {
			break
		}
		x.entries, x.groups = append(x.entries, known), append(x.groups, g)
	}
	if !in.Whole() {
		return nil, errIndex
	}
	return x, nil
}
