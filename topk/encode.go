package topk

import (
	"encoding/binary"
	"slices"

	"github.com/zeebo/xxh3"
	"google.golang.org/protobuf/encoding/protowire"
)

// Fields of the encoding; FORMAT.md says what each holds.
const (
	fieldVersion = 1 + iota
	fieldSeed
	fieldWidth
	fieldDepth
	fieldCapacity
	fieldRecords
	fieldTotal
	fieldHidden
	fieldTheta
	fieldKeys
	fieldLowers
	fieldBases
	fieldPinned
	fieldCells
	fieldRegisters
	fieldCheck
)

const (
	version   = 1
	checkSize = 10 // the last field
)

var names = [...]string{
	0: "the start", fieldVersion: "version", fieldSeed: "seed", fieldWidth: "width", fieldDepth: "depth",
	fieldCapacity: "capacity", fieldRecords: "records", fieldTotal: "total", fieldHidden: "hidden", fieldTheta: "theta",
	fieldKeys: "keys", fieldLowers: "lowers", fieldBases: "bases", fieldPinned: "pinned", fieldCells: "cells",
	fieldRegisters: "registers", fieldCheck: "check",
}

func wireType(field protowire.Number) protowire.Type {
	switch {
	case field == fieldSeed || field == fieldCheck:
		return protowire.Fixed64Type
	case field < fieldKeys:
		return protowire.VarintType
	default:
		return protowire.BytesType
	}
}

// AppendBinary appends the encoding of FORMAT.md to b. The same state gives the same bytes. It holds the seed. It does not fail.
func (s *Summary) AppendBinary(b []byte) ([]byte, error) {
	work := scratches.Get().(*scratch)
	defer scratches.Put(work)
	t := &s.residents
	order, _ := t.order(work)
	t.sort(order, 0)

	b = slices.Grow(b, s.sizeHint())
	start := len(b)
	b = appendNumber(b, fieldVersion, version)
	if s.shape.Seed != 0 {
		b = protowire.AppendTag(b, fieldSeed, protowire.Fixed64Type)
		b = protowire.AppendFixed64(b, s.shape.Seed)
	}
	b = appendNumber(b, fieldWidth, uint64(s.shape.Width))
	b = appendNumber(b, fieldDepth, uint64(s.shape.Depth))
	b = appendNumber(b, fieldCapacity, uint64(s.capacity))
	b = appendNumber(b, fieldRecords, s.records)
	b = appendNumber(b, fieldTotal, s.total)
	b = appendNumber(b, fieldHidden, s.hidden)
	b = appendNumber(b, fieldTheta, s.theta)
	for _, r := range order {
		b = protowire.AppendTag(b, fieldKeys, protowire.BytesType)
		b = protowire.AppendBytes(b, t.key(r.slot))
	}
	b = appendPacked(b, fieldLowers, len(order), func(i int) uint64 { return t.hot[order[i].slot].lo })
	b = appendPacked(b, fieldBases, len(order), func(i int) uint64 { return t.cold[order[i].slot].base })
	if t.pinned > 0 {
		pinned := make([]uint64, 0, t.pinned)
		for i, r := range order {
			if t.cold[r.slot].pinned {
				pinned = append(pinned, uint64(i))
			}
		}
		b = appendPacked(b, fieldPinned, len(pinned), func(i int) uint64 { return pinned[i] })
	}
	if s.tail != nil {
		if s.tail.narrow != nil {
			b = appendCells(b, s.tail.narrow, s.theta)
		} else {
			b = appendCells(b, s.tail.wide, s.theta)
		}
		b = protowire.AppendTag(b, fieldRegisters, protowire.BytesType)
		b = protowire.AppendBytes(b, s.tail.seen[:])
	}
	return appendCheck(b, start), nil
}

// MarshalBinary is AppendBinary to nothing.
func (s *Summary) MarshalBinary() ([]byte, error) { return s.AppendBinary(nil) }

// appendCheck ends the encoding that begins at start.
func appendCheck(b []byte, start int) []byte {
	check := xxh3.Hash(b[start:])
	b = protowire.AppendTag(b, fieldCheck, protowire.Fixed64Type)
	return protowire.AppendFixed64(b, check)
}

// sizeHint is what the encoding takes, more or less.
func (s *Summary) sizeHint() int {
	n := 64 + len(s.residents.keys) + 8*s.residents.size
	if s.tail != nil {
		n += s.shape.cells()*protowire.SizeVarint(s.theta) + registerN
	}
	return n
}

// appendNumber leaves out 0, as protobuf does.
func appendNumber(b []byte, field protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func appendPacked(b []byte, field protowire.Number, n int, at func(int) uint64) []byte {
	if n == 0 {
		return b
	}
	size := 0
	for i := range n {
		size += protowire.SizeVarint(at(i))
	}
	b = protowire.AppendTag(b, field, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(size))
	for i := range n {
		b = binary.AppendUvarint(b, at(i))
	}
	return b
}

// appendCells is appendPacked for cells, which are many and mostly small.
func appendCells[C cell](b []byte, cells []C, theta uint64) []byte {
	b = protowire.AppendTag(b, fieldCells, protowire.BytesType)
	if theta < 0x80 {
		b = protowire.AppendVarint(b, uint64(len(cells)))
		b = slices.Grow(b, len(cells))
		out := b[len(b):][:len(cells)]
		for i, c := range cells {
			out[i] = byte(c)
		}
		return b[:len(b)+len(cells)]
	}
	size := 0
	for _, c := range cells {
		size += protowire.SizeVarint(uint64(c))
	}
	b = protowire.AppendVarint(b, uint64(size))
	for _, c := range cells {
		b = binary.AppendUvarint(b, uint64(c))
	}
	return b
}
