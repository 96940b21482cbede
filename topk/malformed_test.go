package topk

import (
	"math"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// malformed inputs and what their errors say; they are seeds of FuzzUnmarshal too.
func malformed(tb testing.TB) []struct {
	name, want string
	data       []byte
} {
	all := samples(tb)
	exact, tail, expected := []byte(encode(tb, all["exact"])), []byte(encode(tb, all["tail"])), []byte(encode(tb, all["expected"]))
	number := func(f protowire.Number, v uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(nil, f, protowire.VarintType), v)
	}
	text := func(f protowire.Number, v string) []byte {
		return protowire.AppendString(protowire.AppendTag(nil, f, protowire.BytesType), v)
	}
	packed := func(f protowire.Number, vs ...uint64) []byte {
		var b []byte
		for _, v := range vs {
			b = protowire.AppendVarint(b, v)
		}
		return text(f, string(b))
	}
	claim := func(f protowire.Number, size uint64) []byte { // of more bytes than follow
		return protowire.AppendVarint(protowire.AppendTag(nil, f, protowire.BytesType), size)
	}
	keys := func(ks ...string) (b []byte) {
		for _, k := range ks {
			b = append(b, text(fieldKeys, k)...)
		}
		return b
	}
	many := func(n int, v uint64) []uint64 { return slices.Repeat([]uint64{v}, n) }
	return []struct {
		name, want string
		data       []byte
	}{
		{"nothing", "the check does not fit", nil},
		{"text", "pinned has wire type 6, allowed is 2", []byte("not a summary")},
		{"half a tag", "unknown field", append(slices.Clone(tail), 0x80)},
		{"an unknown field", "unknown field after check", append(slices.Clone(tail), number(17, 1)...)},
		{"another check", "the check does not fit", append(slices.Clone(tail[:len(tail)-1]), tail[len(tail)-1]^1)},
		{"a check of another summary", "the check does not fit", append(slices.Clone(exact[:len(exact)-8]), tail[len(tail)-8:]...)},
		{"no check", "the check does not fit", exact[:len(exact)-10]},
		{"no version", "version is 0, allowed is 1", with(tail, nil)},
		{"another version", "version is 2, allowed is 1", with(tail, number(fieldVersion, 2))},
		{"fields out of order", "version after check", append(slices.Clone(tail), number(fieldVersion, 1)...)},
		{"a field twice", "width after width", with(tail, append(number(fieldWidth, 16), number(fieldWidth, 16)...))},
		{"another wire type", "width has wire type 2, allowed is 0", with(tail, text(fieldWidth, "16"))},
		{"a number beyond 64 bits", "total is cut short", with(tail, append(protowire.AppendTag(nil, fieldTotal, protowire.VarintType), strings.Repeat("\xff", 11)...))},
		{"no width", "width is 0, allowed is 1 to 262144", with(tail, number(fieldWidth, 0))},
		{"a huge width", "width is 1099511627776, allowed is 1 to 262144", with(tail, number(fieldWidth, 1<<40))},
		{"a width that the cells do not fill", "48 cells, allowed is width x depth = 786432", with(tail, number(fieldWidth, MaxWidth))},
		{"a huge depth", "depth is 17, allowed is 1 to 16", with(tail, number(fieldDepth, 17))},
		{"a huge capacity", "capacity is 32769, allowed is 1 to 32768", with(tail, number(fieldCapacity, 32769))},
		{"more keys than the capacity", "keys, ", with(tail, number(fieldCapacity, 2))},
		{"a huge number of records", "records is 9223372036854775809", with(tail, number(fieldRecords, 1<<63+1))},
		{"a huge total", "total is 18446744073709551615", with(tail, number(fieldTotal, math.MaxUint64))},
		{"a total that wraps with what is hidden", "hidden is 9223372036854775808", with(tail, number(fieldHidden, 1<<63))},
		{"theta above the total", "theta is 9223372036854775808", with(tail, number(fieldTheta, 1<<63))},
		{"theta without cells", "theta is 1 and hidden 0, allowed is 0 without cells", with(exact, number(fieldTheta, 1))},
		{"hidden weight without cells", "theta is 0 and hidden 1, allowed is 0 without cells", with(exact, number(fieldHidden, 1))},
		{"a key of claimed size", "keys is cut short", with(tail, claim(fieldKeys, 1<<40))},
		{"a key too long", "a key has 65536 bytes, allowed is 0 to 65535", with(exact, keys(strings.Repeat("k", MaxKeyBytes+1)), packed(fieldLowers, 6800), packed(fieldBases, 0))},
		{"fewer keys than bounds", "1 keys, 10 lowers, 10 bases", with(exact, keys("a"))},
		{"lowers cut short", "10 keys, -1 lowers", with(exact, text(fieldLowers, "\x80"))},
		{"a bound beyond 64 bits", "a bound passes 64 bits", with(exact, keys("a"), text(fieldLowers, strings.Repeat("\xff", 10)+"\x01"), packed(fieldBases, 0))},
		{"lowers that pass the total", "lowers add up to more than the total", with(exact, number(fieldTotal, 6799))},
		{"lowers that wrap", "lowers add up to more than the total", with(tail, keys("a", "b"), packed(fieldLowers, 1, math.MaxUint64), packed(fieldBases, 0, 0))},
		{"lowers below the total without cells", "lowers add up to 6800, allowed is the total without cells, 6801", with(exact, number(fieldTotal, 6801))},
		{"an estimate that wraps", "an estimate is more than the total", with(tail, keys("a"), packed(fieldLowers, 1), packed(fieldBases, math.MaxUint64))},
		{"an estimate above the total", "an estimate is more than the total", with(tail, keys("a"), packed(fieldLowers, 1), packed(fieldBases, 1<<40))},
		{"a base without cells", "a base is more than 0 without cells", with(exact, keys("a"), packed(fieldLowers, 6799), packed(fieldBases, 1))},
		{"a key twice", "a key stands twice", with(tail, keys("a", "a"), packed(fieldLowers, 2, 1), packed(fieldBases, 0, 0))},
		{"keys out of order", "keys are not in the order of Top", with(tail, keys("b", "a"), packed(fieldLowers, 1, 1), packed(fieldBases, 0, 0))},
		{"estimates out of order", "keys are not in the order of Top", with(tail, keys("a", "b"), packed(fieldLowers, 1, 2), packed(fieldBases, 0, 0))},
		{"a key without weight", "a key without weight is not pinned", with(tail, keys("a"), packed(fieldLowers, 0), packed(fieldBases, 0))},
		{"too many pinned", "6 pinned", with(expected, packed(fieldPinned, 0, 1, 2, 3, 4, 5))},
		{"a pinned place that is no key's", "pinned are not places of keys, ascending", with(tail, packed(fieldPinned, 1, 2, 99))},
		{"a pinned place twice", "pinned are not places of keys, ascending", with(tail, packed(fieldPinned, 0, 0))},
		{"pinned places that descend", "pinned are not places of keys, ascending", with(tail, packed(fieldPinned, 1, 0))},
		{"a pinned place beyond 64 bits", "pinned are not places of keys, ascending", with(tail, text(fieldPinned, strings.Repeat("\xff", 10)+"\x01"))},
		{"cells of claimed size", "cells is cut short", with(tail, claim(fieldCells, 1<<40))},
		{"one cell too few", "47 cells, allowed is width x depth = 48", with(tail, packed(fieldCells, many(47, 1)...))},
		{"one cell too many", "49 cells, allowed is width x depth = 48", with(tail, packed(fieldCells, many(49, 1)...))},
		{"cells cut short", "-1 cells", with(tail, text(fieldCells, strings.Repeat("\x01", 47)+"\x80"))},
		{"no cells", "0 cells", with(tail, text(fieldCells, ""))},
		{"a cell above theta", "a cell is 127, allowed is 0 to theta", with(tail, packed(fieldCells, many(48, 127)...))},
		{"one cell above theta", "a cell is 6, allowed is 0 to theta, 5", with(tail, number(fieldTheta, 5), packed(fieldCells, append(many(47, 5), 6)...))},
		{"a large cell above theta", "a cell is 4294967296, allowed is 0 to theta", with(tail, packed(fieldCells, many(48, 1<<32)...))},
		{"a cell beyond 64 bits", "a cell passes 64 bits", with(tail, text(fieldCells, strings.Repeat("\x01", 47)+strings.Repeat("\xff", 10)+"\x01"))},
		{"registers without cells", "0 cells", with(exact, text(fieldRegisters, strings.Repeat("\x00", registerN)))},
		{"cells without registers", "0 registers, allowed is 4096", with(tail, text(fieldRegisters, ""))},
		{"one register too few", "4095 registers, allowed is 4096", with(tail, text(fieldRegisters, strings.Repeat("\x00", registerN-1)))},
		{"one register above its maximum", "a register is 53", with(tail, text(fieldRegisters, strings.Repeat("\x34", registerN-1)+"\x35"))},
		{"one register far above its maximum", "a register is 128", with(tail, text(fieldRegisters, strings.Repeat("\x34", registerN-1)+"\x80"))},
		{"a register above its maximum", "a register is 53, allowed is 0 to 52", with(tail, text(fieldRegisters, strings.Repeat("\x35", registerN)))},
	}
}

// with replaces fields of data, and mends the check. Each argument is a field, or several of one number, and stands in for all
// of that number; nil leaves out the version.
func with(data []byte, fields ...[]byte) []byte {
	byNumber := map[protowire.Number][]byte{}
	for rest := data; len(rest) > 0; {
		number, _, n := protowire.ConsumeField(rest)
		byNumber[number] = append(byNumber[number], rest[:n]...)
		rest = rest[n:]
	}
	for _, field := range fields {
		number := protowire.Number(fieldVersion)
		if field != nil {
			number, _, _ = protowire.ConsumeTag(field)
		}
		byNumber[number] = field
	}
	var b []byte
	for number := protowire.Number(1); number < fieldCheck; number++ {
		b = append(b, byNumber[number]...)
	}
	return appendCheck(b, 0)
}
