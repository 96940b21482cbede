package topk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/zeebo/xxh3"
	"google.golang.org/protobuf/encoding/protowire"
)

// UnmarshalBinary replaces s by what data holds; on error, which is ErrCorrupt, s is unchanged. It takes only what AppendBinary
// could have written for a summary that keeps every bound, so that no later call can wrap or panic. Lengths are checked
// before anything is allocated: at most 64 bytes for each byte of data.
func (s *Summary) UnmarshalBinary(data []byte) error {
	var d Decoder
	decoded, err := d.Decode(data)
	if err != nil {
		return err
	}
	*s = *decoded
	return nil
}

// Decoder decodes one summary after the other, each in the room of the one before it: for who reads many and keeps none.
type Decoder struct{ decoded Summary }

// Decode is UnmarshalBinary into a summary that is good until the next call.
func (d *Decoder) Decode(data []byte) (*Summary, error) {
	var e encoded
	d.decoded.Reset()
	err := e.split(data)
	if err == nil {
		err = d.decoded.decode(&e)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return &d.decoded, nil
}

// encoded is an encoding taken apart, nothing of it copied yet.
type encoded struct {
	numbers               [fieldCheck + 1]uint64 // by field
	keys                  []byte                 // from the first key field on
	size, keyBytes        int                    // of the keys
	lowers, bases, pinned packed
	cells                 packed
	registers             []byte
}

// split takes the fields apart. They stand in order, each at most once but for keys.
func (e *encoded) split(data []byte) error {
	whole, last := data, protowire.Number(0)
	for len(data) > 0 {
		field, kind, n := protowire.ConsumeTag(data)
		if n < 0 || int(field) >= len(names) {
			return fmt.Errorf("an unknown field after %s", names[last])
		}
		if field < last || field == last && field != fieldKeys {
			return fmt.Errorf("%s after %s", names[field], names[last])
		}
		if want := wireType(field); kind != want {
			return fmt.Errorf("%s has wire type %d, allowed is %d", names[field], kind, want)
		}
		if field == fieldKeys && last != fieldKeys {
			e.keys = data
		}
		last = field
		if data = data[n:]; kind == protowire.BytesType {
			var value []byte
			value, n = protowire.ConsumeBytes(data)
			e.set(field, value)
		} else if kind == protowire.VarintType {
			e.numbers[field], n = protowire.ConsumeVarint(data)
		} else {
			e.numbers[field], n = protowire.ConsumeFixed64(data)
		}
		if n < 0 {
			return fmt.Errorf("%s is cut short", names[field])
		}
		data = data[n:]
		if v := e.numbers[fieldVersion]; v != version { // the first field
			return fmt.Errorf("version is %d, allowed is %d", v, version)
		}
	}
	if last != fieldCheck || e.numbers[fieldCheck] != xxh3.Hash(whole[:len(whole)-checkSize]) {
		return errors.New("it was cut short or changed: the check does not fit")
	}
	return nil
}

func (e *encoded) set(field protowire.Number, value []byte) {
	switch field {
	case fieldKeys:
		e.size++
		e.keyBytes += len(value)
	case fieldLowers:
		e.lowers = value
	case fieldBases:
		e.bases = value
	case fieldPinned:
		e.pinned = value
	case fieldCells:
		e.cells = value
	case fieldRegisters:
		e.registers = value
	}
}

// nextKey takes a key off e.keys, which split has walked before.
func (e *encoded) nextKey() []byte {
	_, _, n := protowire.ConsumeTag(e.keys)
	key, m := protowire.ConsumeBytes(e.keys[n:])
	e.keys = e.keys[n+m:]
	return key
}

// decode fills the empty s. What it has no cells for is left in spare.
func (s *Summary) decode(e *encoded) error {
	if err := s.decodeNumbers(e); err != nil {
		return err
	}
	if err := s.decodeTail(e); err != nil {
		return err
	}
	return s.decodeResidents(e)
}

func (s *Summary) decodeNumbers(e *encoded) error {
	n := &e.numbers
	for _, limit := range [...]struct{ field, least, most uint64 }{
		{fieldWidth, 1, MaxWidth},
		{fieldDepth, 1, MaxDepth},
		{fieldCapacity, 1, MaxResidents},
		{fieldRecords, 0, MaxTotal},
		{fieldTotal, 0, MaxTotal},
		{fieldHidden, 0, MaxTotal - min(n[fieldTotal], MaxTotal)},
		{fieldTheta, 0, n[fieldTotal] + n[fieldHidden]},
	} {
		if v := n[limit.field]; v < limit.least || v > limit.most {
			return fmt.Errorf("%s is %d, allowed is %d to %d", names[limit.field], v, limit.least, limit.most)
		}
	}
	s.shape = Shape{Width: int(n[fieldWidth]), Depth: int(n[fieldDepth]), Seed: n[fieldSeed]}
	s.capacity = int(n[fieldCapacity])
	s.records, s.total, s.hidden, s.theta = n[fieldRecords], n[fieldTotal], n[fieldHidden], n[fieldTheta]
	return nil
}

func (s *Summary) decodeTail(e *encoded) error {
	if len(e.cells) == 0 && len(e.registers) == 0 {
		if s.theta > 0 || s.hidden > 0 {
			return fmt.Errorf("theta is %d and hidden %d, allowed is 0 without cells", s.theta, s.hidden)
		}
		return nil
	}
	if n := e.cells.count(); n != s.shape.cells() {
		return fmt.Errorf("%d cells, allowed is width x depth = %d", n, s.shape.cells())
	}
	if len(e.registers) != registerN {
		return fmt.Errorf("%d registers, allowed is %d", len(e.registers), registerN)
	}
	if passes(e.registers, registerMax) {
		most := slices.Max(e.registers)
		return fmt.Errorf("a register is %d, allowed is 0 to %d", most, registerMax)
	}
	t := s.spare
	if s.spare = nil; t == nil {
		t = &tail{}
	}
	t.seen = registers(e.registers)
	if s.tail = t; s.theta > math.MaxUint32 {
		t.narrow, t.wide = nil, resized(t.wide, s.shape.cells())
		return decodeCells(t.wide, e.cells, s.theta)
	}
	t.narrow, t.wide = resized(t.narrow, s.shape.cells()), nil
	return decodeCells(t.narrow, e.cells, s.theta)
}

// resized is a slice of n, in the room of a if there is enough.
func resized[E any](a []E, n int) []E {
	if cap(a) < n {
		return make([]E, n)
	}
	return a[:n]
}

func decodeCells[C cell](cells []C, data packed, theta uint64) error {
	var most, over uint64
	room := roomBelow(theta)
	for i := 0; i < len(cells); {
		if len(data) >= lanes && len(cells)-i >= lanes {
			if word := binary.LittleEndian.Uint64(data); word&high == 0 { // a byte each, as nearly all are
				over |= word + room
				some, eight := (*[lanes]C)(cells[i:]), (*[lanes]byte)(data)
				for j, v := range eight {
					some[j] = C(v)
				}
				i, data = i+lanes, data[lanes:]
				continue
			}
		}
		v, ok := data.next()
		if !ok {
			return errors.New("a cell passes 64 bits")
		}
		cells[i] = C(v)
		most = max(most, v)
		i++
	}
	if over&high != 0 {
		most = uint64(slices.Max(cells))
	}
	if most > theta {
		return fmt.Errorf("a cell is %d, allowed is 0 to theta, %d", most, theta)
	}
	return nil
}

// roomBelow is what may be added to each of eight bytes below 0x80 before those that pass most, and no others, reach 0x80.
func roomBelow(most uint64) uint64 { return (0x7f - min(most, 0x7f)) * low }

// passes says whether one of these bytes, a multiple of eight, is more than most, which is below 0x80.
func passes(bytes []byte, most uint64) bool {
	var over uint64
	for room := roomBelow(most); len(bytes) > 0; bytes = bytes[lanes:] {
		word := binary.LittleEndian.Uint64(bytes)
		over |= word | word&^high + room
	}
	return over&high != 0
}

func (s *Summary) decodeResidents(e *encoded) error {
	l, b, p := e.lowers.count(), e.bases.count(), e.pinned.count()
	if e.size > s.capacity || l != e.size || b != e.size || p < 0 || p > s.capacity/maxPinned {
		return fmt.Errorf("%d keys, %d lowers, %d bases, %d pinned; capacity is %d, and a quarter of it for pinned", e.size, l, b, p, s.capacity)
	}
	t := &s.residents
	t.resize(e.size)
	t.keys = slices.Grow(t.keys, e.keyBytes)
	place, pinned := e.pinned.next()
	var known uint64 // sum of the lowers
	last := -1
	for i := range e.size {
		key := e.nextKey()
		lo, ok1 := e.lowers.next()
		base, ok2 := e.bases.next()
		pin := pinned && place == uint64(i)
		k := identityOf(xxh3.Hash128Seed(key, s.shape.Seed))
		switch {
		case !ok1 || !ok2:
			return errors.New("a bound passes 64 bits")
		case len(key) > MaxKeyBytes:
			return fmt.Errorf("a key has %d bytes, allowed is 0 to %d", len(key), MaxKeyBytes)
		case lo > s.total-known:
			return fmt.Errorf("lowers add up to more than the total, %d", s.total)
		case base > s.TotalUpper()-lo:
			return fmt.Errorf("an estimate is more than the total, %d", s.TotalUpper())
		case base > 0 && s.tail == nil:
			return errors.New("a base is more than 0 without cells")
		case lo+base == 0 && !pin:
			return errors.New("a key without weight is not pinned")
		case t.find(k) >= 0:
			return errors.New("a key stands twice")
		case last >= 0 && (lo+base > t.estimate(last) || lo+base == t.estimate(last) && bytes.Compare(key, t.key(last)) < 0):
			return errors.New("keys are not in the order of Top")
		}
		known += lo
		last = insert(t, k, key, lo, base)
		if pin {
			t.pin(last)
			place, pinned = e.pinned.next()
		}
	}
	if pinned || t.pinned != p {
		return errors.New("pinned are not places of keys, ascending")
	}
	if s.tail == nil && known != s.total {
		return fmt.Errorf("lowers add up to %d, allowed is the total without cells, %d", known, s.total)
	}
	return nil
}

// packed is a packed field of varints.
type packed []byte

// count is the number of varints, or -1 if the last is cut short.
func (p packed) count() (n int) {
	if len(p) > 0 && p[len(p)-1] >= 0x80 {
		return -1
	}
	for ; len(p) >= 8; p = p[8:] { // eight bytes at once: the last of each varint is below 0x80
		n += bits.OnesCount64(^binary.LittleEndian.Uint64(p) & high)
	}
	for _, b := range p {
		n += int(^b >> 7)
	}
	return n
}

// next takes one off; not ok: there is none, or it passes 64 bits.
func (p *packed) next() (v uint64, ok bool) {
	v, n := binary.Uvarint(*p)
	if n <= 0 {
		return 0, false
	}
	*p = (*p)[n:]
	return v, true
}
