package table

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/field"
	"github.com/otel-topk/collector/internal/rule"
)

// footer is Meta and where the lists lie.
type footer struct {
	Meta
	ends []int64 // row after the last of each of Sums
}

// described is Meta as JSON, but for its sums.
type described struct {
	Version     int          `json:"version"`
	Rule        string       `json:"rule"`
	Fingerprint string       `json:"fingerprint"`
	Signals     []string     `json:"signals"`
	From        int64        `json:"from"` // seconds since 1970
	To          int64        `json:"to"`
	MadeOf      string       `json:"made_of"`
	Files       []madeOf     `json:"files,omitempty"`
	Parts       []mergedOf   `json:"parts,omitempty"`
	LeftOut     []string     `json:"left_out,omitempty"`
	Skipped     rule.Skipped `json:"skipped"`
	First       int          `json:"first,omitempty"`
	Rows        int64        `json:"rows"`
}

type madeOf struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
}

type mergedOf struct {
	From   int64  `json:"from"`
	To     int64  `json:"to"`
	MadeOf string `json:"made_of"`
}

const secondsOfHour = 3600

// mostSumBytes is the most that sums hold once they are expanded.
const mostSumBytes = 1 << 30

var (
	compressor = sure(zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)))
	expander   = sure(zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(mostSumBytes)))
)

func sure[T any](v T, err error) T {
	if err != nil {
		panic("table: " + err.Error()) // options that cannot be
	}
	return v
}

func (f *footer) encode(rows int64) (text, sums string, err error) {
	d := described{
		Version: formatVersion, Rule: f.Rule, Fingerprint: f.Fingerprint, Signals: f.Signals,
		From: int64(f.From) * secondsOfHour, To: int64(f.To) * secondsOfHour, MadeOf: f.Version,
		LeftOut: f.LeftOut, Skipped: f.Skipped, First: f.First, Rows: rows,
	}
	for _, file := range f.Files {
		d.Files = append(d.Files, madeOf{file.Path(), file.Size})
	}
	for _, part := range f.Parts {
		d.Parts = append(d.Parts, mergedOf{int64(part.From) * secondsOfHour, int64(part.To) * secondsOfHour, part.Version})
	}
	sums = base64.StdEncoding.EncodeToString(compressor.EncodeAll(f.encodeSums(), nil))
	encoded, err := json.Marshal(&d)
	return string(encoded), sums, err
}

// encodeSums: how many lists, and of each its scope, name, weight, records, keys with weight, and rows in this file.
func (f *footer) encodeSums() []byte {
	b := binary.AppendUvarint(nil, uint64(len(f.Sums)))
	for i := range f.Sums {
		s := &f.Sums[i]
		from, to := f.place(i)
		b = field.AppendText(append(b, byte(s.Group.Scope)), s.Group.Name)
		for _, n := range []uint64{s.Weight, s.Records, s.Distinct, uint64(to - from)} {
			b = binary.AppendUvarint(b, n)
		}
	}
	return b
}

var errFooter = errors.New("the footer does not agree with itself")

// decodeFooter reads what encode made, of a file of so many rows.
func decodeFooter(text, sums string, rows int64) (*footer, error) {
	var d described
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		return nil, err
	}
	if d.Version != formatVersion {
		return nil, fmt.Errorf("version %d, known is %d", d.Version, formatVersion)
	}
	if d.Rows != rows || d.From%secondsOfHour != 0 || d.To%secondsOfHour != 0 {
		return nil, errFooter
	}
	f := &footer{Meta: Meta{
		Rule: d.Rule, Fingerprint: d.Fingerprint, Signals: d.Signals, From: archive.Hour(d.From / secondsOfHour), To: archive.Hour(d.To / secondsOfHour),
		Version: d.MadeOf, LeftOut: d.LeftOut, Skipped: d.Skipped, First: d.First,
	}}
	for _, made := range d.Files {
		file, err := archive.ParseFile(made.Path)
		if err != nil {
			return nil, err
		}
		file.Size = made.Size
		f.Files = append(f.Files, file)
	}
	for _, part := range d.Parts {
		f.Parts = append(f.Parts, Part{archive.Hour(part.From / secondsOfHour), archive.Hour(part.To / secondsOfHour), part.MadeOf})
	}
	packed, err := base64.StdEncoding.DecodeString(sums)
	if err != nil {
		return nil, err
	}
	expanded, err := expander.DecodeAll(packed, nil)
	if err != nil {
		return nil, err
	}
	return f, f.decodeSums(expanded, rows)
}

func (f *footer) decodeSums(b []byte, rows int64) error {
	in := field.New(b)
	end := int64(0)
	for range in.UpTo(uint64(len(b))) {
		g := rule.Group{Scope: rule.Scope(in.UpTo(uint64(rule.ScopeOverflow))), Name: string(in.Text(math.MaxUint16))}
		s := Sum{Group: g, Weight: in.UpTo(MaxWeight), Records: in.Uint(), Distinct: in.Uint()}
		end += int64(in.UpTo(uint64(rows - end)))
		if i := len(f.Sums); in.Broken() || i > 0 && CompareGroups(f.Sums[i-1].Group, g) >= 0 {
			return errFooter
		}
		f.Sums, f.ends = append(f.Sums, s), append(f.ends, end)
	}
	if !in.Whole() || end != rows {
		return errFooter
	}
	return nil
}

// place of the rows of list i: from the first up to and without the last.
func (f *footer) place(i int) (from, to int64) {
	if i > 0 {
		from = f.ends[i-1]
	}
	return from, f.ends[i]
}

// find the place of g in sums.
func find(sums []Sum, g rule.Group) (int, bool) {
	return slices.BinarySearchFunc(sums, g, func(s Sum, g rule.Group) int { return CompareGroups(s.Group, g) })
}
