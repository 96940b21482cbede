package board

import (
	"encoding/binary"

	"github.com/otel-topk/collector/internal/field"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

// Flags of stored values.
const (
	flagGoodbye = 1 << iota // of an epoch
	flagGone
	flagGateway

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

// valueVersion leads every stored value.
const valueVersion = 1

// fieldsOf begins to read a value.
func fieldsOf(value []byte) *field.Reader {
	r := field.New(value)
	r.Version(valueVersion)
	return r
}

func when(is bool, f byte) byte {
	if is {
		return f
	}
	return 0
}

func (e *epoch) value() []byte {
	b := field.AppendText([]byte{valueVersion}, e.shard)
	b = binary.AppendVarint(b, e.first)
	b = binary.AppendVarint(b, e.last)
	b = append(b, when(e.goodbye, flagGoodbye)|when(e.gone, flagGone)|when(e.gateway, flagGateway))
	b = binary.AppendUvarint(b, uint64(len(e.reports)))
	for _, p := range e.reports {
		b = field.AppendText(b, p.rule)
		b = field.AppendText(b, p.fingerprint)
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
	r := fieldsOf(value)
	e := &epoch{id: id, shard: string(r.Text(wire.MaxShardBytes)), first: r.Int(), last: r.Int()}
	flags := r.Byte()
	e.goodbye, e.gone, e.gateway = flags&flagGoodbye != 0, flags&flagGone != 0, flags&flagGateway != 0
	n := r.Count(leastReported)
	e.rules = make(map[string]*reported, n)
	for range n {
		p := &reported{rule: string(r.Text(rule.MaxNameBytes)), fingerprint: string(r.Text(fingerprintBytes)), since: r.Int()}
		for _, n := range [...]*uint64{
			&p.told.Records, &p.told.Late, &p.told.Future, &p.told.Dropped,
			&p.unplaced.records, &p.unplaced.late, &p.unplaced.future, &p.unplaced.dropped,
		} {
			*n = r.Uint()
		}
		p.forgotten, p.overflowed = readMinute(r), readMinute(r)
		e.add(p)
	}
	return e, r.Whole() && len(e.rules) == n
}

// readMinute reads one that is no later than wire's last and the one after it.
func readMinute(r *field.Reader) window.Minute {
	n := r.Uint()
	r.Require(n <= uint64(wire.MaxMinute)+1)
	if r.Broken() {
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
	b := field.AppendText([]byte{valueVersion}, s.definition)
	b = binary.AppendVarint(b, s.since)
	b = binary.AppendVarint(b, s.newest)
	b = binary.AppendUvarint(b, uint64(s.floor))
	b = binary.AppendUvarint(b, uint64(s.flat))
	b = binary.AppendUvarint(b, uint64(s.until))
	return append(b, when(s.served, flagServed)|when(s.awake, flagAwake))
}

func readRule(value []byte) (*storedRule, bool) {
	r := fieldsOf(value)
	s := &storedRule{definition: r.Text(wire.MaxDefinitionBytes), since: r.Int(), newest: r.Int(), floor: readMinute(r), flat: readMinute(r), until: readMinute(r)}
	flags := r.Byte()
	s.served, s.awake = flags&flagServed != 0, flags&flagAwake != 0
	r.Require(s.newest < wire.MaxMinute.End())
	return s, r.Whole()
}

// storedSets is what is stored of a minute whose sets were folded.
type storedSets struct {
	folds   uint64
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
	return appendMore(b, s.folds)
}

func readSets(value []byte) (*storedSets, bool) {
	r := fieldsOf(value)
	s := &storedSets{expires: r.Int(), drawn: r.Uint()}
	n := r.Count(len(wire.Epoch{}))
	for range n {
		s.epochs = append(s.epochs, wire.Epoch(r.Bytes(len(wire.Epoch{}))))
	}
	s.folds = readMore(r)
	return s, r.Whole()
}

func toldValue(t *wire.RuleReport) []byte {
	b := []byte{valueVersion}
	for _, n := range [...]uint64{t.Records, t.Late, t.Future, t.Dropped} {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

func readTold(value []byte) (*wire.RuleReport, bool) {
	r := fieldsOf(value)
	return &wire.RuleReport{Records: r.Uint(), Late: r.Uint(), Future: r.Uint(), Dropped: r.Uint()}, r.Whole()
}

// appendMore writes a count that was added to a value: where it is 0, nothing, so that the value is as it was before.
func appendMore(b []byte, n uint64) []byte {
	if n == 0 {
		return b
	}
	return binary.AppendUvarint(b, n)
}

func readMore(r *field.Reader) uint64 {
	if len(r.Rest()) == 0 {
		return 0
	}
	return r.Uint()
}

// stateValue is a state as it came.
func stateValue(body []byte, overflows bool) []byte {
	return append([]byte{valueVersion, when(overflows, flagOverflow)}, body...)
}

// readState shares memory with value.
func readState(value []byte) (body []byte, overflows, ok bool) {
	r := fieldsOf(value)
	overflows = r.Byte()&flagOverflow != 0
	return r.Rest(), overflows, !r.Broken()
}

// partHead leads the value of a part. The name of its group stands there only where the key holds its hash.
func partHead(b []byte, kind byte, g rule.Group) []byte {
	return field.AppendText(append(b, valueVersion, kind), longNameOf(g))
}

// readPart shares memory with value.
func readPart(value []byte) (kind byte, name, compressed []byte, ok bool) {
	r := fieldsOf(value)
	kind = r.Byte()
	name = r.Text(topk.MaxKeyBytes)
	return kind, name, r.Rest(), !r.Broken() && kind <= partSummary
}

func (i *incidents) value() []byte {
	b := []byte{valueVersion, when(i.silent, flagSilent)}
	for _, n := range [...]uint64{i.records, i.late, i.future, i.dropped, i.damaged} {
		b = binary.AppendUvarint(b, n)
	}
	return appendMore(b, i.differ)
}

func readIncidents(value []byte) (incidents, bool) {
	r := fieldsOf(value)
	i := incidents{silent: r.Byte()&flagSilent != 0}
	for _, n := range [...]*uint64{&i.records, &i.late, &i.future, &i.dropped, &i.damaged} {
		*n = r.Uint()
	}
	i.differ = readMore(r)
	return i, r.Whole()
}
