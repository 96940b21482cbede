package board

import (
	"encoding/binary"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

// Flags of stored values.
const (
	flagGoodbye = 1 << iota // of an epoch
	flagGone

	flagOverflow = 1 // of a state: it counts in scope overflow
	flagSilent   = 1 // of incidents
)

const (
	flagServed = 1 << iota // of a rule
	flagAwake
)

// Kinds of part values.
const (
	partLost byte = iota // it could not be read
	partSummary
)

func when(is bool, f byte) byte {
	if is {
		return f
	}
	return 0
}

func (e *epoch) value() []byte {
	b := appendText([]byte{valueVersion}, e.shard)
	b = binary.AppendVarint(b, e.first)
	b = binary.AppendVarint(b, e.last)
	b = append(b, when(e.goodbye, flagGoodbye)|when(e.gone, flagGone))
	b = binary.AppendUvarint(b, uint64(len(e.reports)))
	for _, p := range e.reports {
		b = appendText(b, p.rule)
		b = appendText(b, p.fingerprint)
		b = binary.AppendVarint(b, p.since)
		for _, n := range [...]uint64{
			p.told.Records, p.told.Late, p.told.Future, p.told.Dropped,
			p.unplaced.records, p.unplaced.late, p.unplaced.future, p.unplaced.dropped,
			uint64(p.forgotten), uint64(p.overflowed),
		} {
			b = binary.AppendUvarint(b, n)
		}
	}
	return b
}

const (
	leastReported    = 13 // bytes that one rule of an epoch takes in its value at least
	fingerprintBytes = 32
)

func readEpoch(id wire.Epoch, value []byte) (*epoch, bool) {
	r := open(value)
	e := &epoch{id: id, shard: string(r.bytes(wire.MaxShardBytes)), first: r.int(), last: r.int()}
	flags := r.byte()
	e.goodbye, e.gone = flags&flagGoodbye != 0, flags&flagGone != 0
	n := r.count(leastReported)
	e.rules = make(map[string]*reported, n)
	for range n {
		p := &reported{rule: string(r.bytes(rule.MaxNameBytes)), fingerprint: string(r.bytes(fingerprintBytes)), since: r.int()}
		for _, n := range [...]*uint64{
			&p.told.Records, &p.told.Late, &p.told.Future, &p.told.Dropped,
			&p.unplaced.records, &p.unplaced.late, &p.unplaced.future, &p.unplaced.dropped,
		} {
			*n = r.uint()
		}
		p.forgotten, p.overflowed = r.minute(), r.minute()
		e.add(p)
	}
	return e, r.whole() && len(e.rules) == n
}

// minute reads one that is no later than wire's last and the one after it.
func (r *reader) minute() window.Minute {
	n := r.uint()
	r.require(n <= uint64(wire.MaxMinute)+1)
	if r.broken {
		return 0
	}
	return window.Minute(n)
}

// storedRule is what is stored of a definition.
type storedRule struct {
	definition    []byte // as it travels
	since, newest int64
	floor, flat   window.Minute
	until         window.Minute
	served, awake bool
}

func (s *storedRule) value() []byte {
	b := appendText([]byte{valueVersion}, s.definition)
	b = binary.AppendVarint(b, s.since)
	b = binary.AppendVarint(b, s.newest)
	b = binary.AppendUvarint(b, uint64(s.floor))
	b = binary.AppendUvarint(b, uint64(s.flat))
	b = binary.AppendUvarint(b, uint64(s.until))
	return append(b, when(s.served, flagServed)|when(s.awake, flagAwake))
}

func readRule(value []byte) (*storedRule, bool) {
	r := open(value)
	s := &storedRule{definition: r.bytes(wire.MaxDefinitionBytes), since: r.int(), newest: r.int(), floor: r.minute(), flat: r.minute(), until: r.minute()}
	flags := r.byte()
	s.served, s.awake = flags&flagServed != 0, flags&flagAwake != 0
	r.require(s.newest < wire.MaxMinute.End())
	return s, r.whole()
}

// storedSets is what is stored of a minute whose sets were folded.
type storedSets struct {
	expires int64
	drawn   uint64 // of the pool of weight
	epochs  []wire.Epoch
}

func (s *storedSets) value() []byte {
	b := binary.AppendVarint([]byte{valueVersion}, s.expires)
	b = binary.AppendUvarint(b, s.drawn)
	b = binary.AppendUvarint(b, uint64(len(s.epochs)))
	for i := range s.epochs {
		b = append(b, s.epochs[i][:]...)
	}
	return b
}

func readSets(value []byte) (*storedSets, bool) {
	r := open(value)
	s := &storedSets{expires: r.int(), drawn: r.uint()}
	n := r.count(len(wire.Epoch{}))
	for range n {
		s.epochs = append(s.epochs, wire.Epoch(r.rest))
		r.rest = r.rest[len(wire.Epoch{}):]
	}
	return s, r.whole()
}

// stateValue is a state as it came.
func stateValue(body []byte, overflows bool) []byte {
	return append([]byte{valueVersion, when(overflows, flagOverflow)}, body...)
}

// readState shares memory with value.
func readState(value []byte) (body []byte, overflows, ok bool) {
	r := open(value)
	overflows = r.byte()&flagOverflow != 0
	return r.rest, overflows, !r.broken
}

// partHead leads the value of a part. The name of its group stands there only where the key holds its hash.
func partHead(b []byte, kind byte, g rule.Group) []byte {
	return appendText(append(b, valueVersion, kind), longNameOf(g))
}

// readPart shares memory with value.
func readPart(value []byte) (kind byte, name, compressed []byte, ok bool) {
	r := open(value)
	kind = r.byte()
	name = r.bytes(topk.MaxKeyBytes)
	return kind, name, r.rest, !r.broken && kind <= partSummary
}

func (i *incidents) value() []byte {
	b := []byte{valueVersion, when(i.silent, flagSilent)}
	for _, n := range [...]uint64{i.records, i.late, i.future, i.dropped, i.damaged} {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

func readIncidents(value []byte) (incidents, bool) {
	r := open(value)
	i := incidents{silent: r.byte()&flagSilent != 0}
	for _, n := range [...]*uint64{&i.records, &i.late, &i.future, &i.dropped, &i.damaged} {
		*n = r.uint()
	}
	return i, r.whole()
}
