package table_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/table"
)

// object is a file in memory.
type object struct{ *bytes.Reader }

func (object) Close() error    { return nil }
func (o object) Size() int64   { return o.Reader.Size() }
func inMemory(b []byte) object { return object{bytes.NewReader(b)} }

func group(name string) rule.Group { return rule.Group{Scope: rule.ScopeGroup, Name: name} }

func sequence(rows []table.Row) iter.Seq2[table.Row, error] {
	return func(yield func(table.Row, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

func collect(t require.TestingT, rows iter.Seq2[table.Row, error]) []table.Row {
	var all []table.Row
	for row, err := range rows {
		require.NoError(t, err)
		all = append(all, row)
	}
	return all
}

func write(t require.TestingT, meta table.Meta, rows []table.Row) []byte {
	var b bytes.Buffer
	require.NoError(t, table.Write(&b, meta, sequence(rows)))
	return b.Bytes()
}

func open(t require.TestingT, b []byte) *table.Table {
	opened, err := table.Open(inMemory(b))
	require.NoError(t, err)
	return opened
}

func sorted(rows []table.Row) []table.Row {
	slices.SortFunc(rows, func(a, b table.Row) int {
		if c := table.CompareGroups(a.Group, b.Group); c != 0 {
			return c
		}
		return bytes.Compare([]byte(a.Key), []byte(b.Key))
	})
	return rows
}

var meta = table.Meta{
	Rule: "tenants", Fingerprint: "0123456789abcdef0123456789abcdef", Signals: []string{rule.SignalLogs},
	From: 450000, To: 450001, Version: "v1",
	Files:   []archive.File{{Signal: rule.SignalLogs, Hour: 450000, Name: "a-0123456789abcdef.parquet", Size: 12}},
	LeftOut: []string{"x: damaged"}, Skipped: rule.Skipped{MissingKey: 3, BadWeight: 1},
}

// many rows of lists of every scope, so that lists begin and end within pages and row groups.
func many(n int, keyBytes int) []table.Row {
	r := rand.New(rand.NewPCG(1, 2))
	var rows []table.Row
	for i := range n {
		key := fmt.Sprintf("key-%09d", i)
		if keyBytes > len(key) && i%5 == 0 {
			key += string(make([]byte, r.IntN(keyBytes)))
		}
		weight := r.Uint64N(1000)
		g := group(fmt.Sprint("group ", r.IntN(7)))
		if i%11 == 0 {
			g = rule.Group{Scope: rule.ScopeMissing}
		}
		rows = append(rows, table.Row{Key: key, Weight: weight, Records: 1}, table.Row{Group: g, Key: key, Weight: weight, Records: 1})
	}
	return sorted(rows)
}

func sums(rows []table.Row) []table.Sum {
	var all []table.Sum
	for _, row := range rows {
		if n := len(all); n == 0 || all[n-1].Group != row.Group {
			all = append(all, table.Sum{Group: row.Group})
		}
		s := &all[len(all)-1]
		s.Weight += row.Weight
		s.Records += row.Records
		if row.Weight > 0 {
			s.Distinct++
		}
	}
	return all
}

func TestWhatWasWrittenIsRead(t *testing.T) {
	for name, rows := range map[string][]table.Row{
		"nothing":          nil,
		"one row":          {{Key: "", Weight: 1, Records: 1}},
		"the largest":      {{Key: "a", Weight: table.MaxWeight, Records: table.MaxWeight}},
		"bytes of no text": {{Key: "a\x00b\xff", Weight: 1, Records: 1}, {Group: group("\xfe"), Key: "\xff", Weight: 1, Records: 2}},
		"a group of no name": {
			{Key: "a", Weight: 1, Records: 1},
			{Group: group(""), Key: "a", Weight: 1, Records: 1},
			{Group: rule.Group{Scope: rule.ScopeMissing}, Key: "a", Weight: 1, Records: 1},
		},
		"no weight":       {{Key: "a", Records: 5}},
		"many":            many(10_000, 0),
		"long keys":       many(500, 60_000),
		"many row groups": many(80_000, 0),
	} {
		t.Run(name, func(t *testing.T) {
			b := write(t, meta, rows)
			opened := open(t, b)
			assert.Equal(t, rows, collect(t, opened.All(t.Context())))
			want := meta
			want.Sums = sums(rows)
			assert.Equal(t, &want, opened.Meta())
			assert.Equal(t, b, write(t, meta, rows), "the same rows give the same bytes")
			for i := range want.Sums {
				s := &want.Sums[i]
				of := slices.DeleteFunc(slices.Clone(rows), func(r table.Row) bool { return r.Group != s.Group })
				assert.Equal(t, of, collect(t, opened.Rows(t.Context(), s.Group)))
				assert.Equal(t, s, opened.Meta().Sum(s.Group))
			}
			for i, at := 0, max(1, len(rows)/500); i < len(rows); i += at {
				row, err := opened.Count(t.Context(), rows[i].Group, rows[i].Key)
				require.NoError(t, err)
				require.Equal(t, rows[i], row)
				other := table.Row{Group: rows[i].Group, Key: rows[i].Key + "\x00"}
				row, err = opened.Count(t.Context(), other.Group, other.Key)
				require.NoError(t, err)
				require.Equal(t, other, row)
			}
		})
	}
}

func TestCountIsZeroOfWhatIsNotThere(t *testing.T) {
	opened := open(t, write(t, meta, many(1000, 0)))
	for _, asked := range []table.Row{{Key: ""}, {Key: "zzz"}, {Group: group("none"), Key: "key-000000001"}, {Group: rule.Group{Scope: rule.ScopeOverflow}, Key: "a"}} {
		row, err := opened.Count(t.Context(), asked.Group, asked.Key)
		require.NoError(t, err)
		assert.Equal(t, asked, row)
	}
	assert.Empty(t, collect(t, opened.Rows(t.Context(), group("none"))))
	assert.Nil(t, opened.Meta().Sum(group("none")))
}

func TestTheFirstOfEachListKeepTheSumsOfAll(t *testing.T) {
	rows := many(1000, 0)
	first := meta
	first.First = 3
	first.Sums = sums(rows)
	first.Sums = append(first.Sums, table.Sum{Group: rule.Group{Scope: rule.ScopeOverflow}, Records: 4})
	var kept []table.Row
	for i := range first.Sums {
		of := slices.DeleteFunc(slices.Clone(rows), func(r table.Row) bool { return r.Group != first.Sums[i].Group })
		kept = append(kept, of[:min(3, len(of))]...)
	}
	opened := open(t, write(t, first, kept))
	assert.Equal(t, &first, opened.Meta())
	assert.Equal(t, kept, collect(t, opened.All(t.Context())))
	assert.Len(t, collect(t, opened.Rows(t.Context(), group("group 3"))), 3)
	first.Sums = first.Sums[1:]
	assert.ErrorContains(t, table.Write(io.Discard, first, sequence(kept)), "without a sum")
}

func TestWriteRefusesWhatIsNoTable(t *testing.T) {
	for name, rows := range map[string][]table.Row{
		"not sorted":       {{Key: "b", Weight: 1}, {Key: "a", Weight: 1}},
		"twice":            {{Key: "a", Weight: 1}, {Key: "a", Weight: 1}},
		"lists not sorted": {{Group: group("a"), Key: "a"}, {Key: "b"}},
		"too much weight":  {{Key: "a", Weight: table.MaxWeight}, {Key: "b", Weight: 1}},
		"one too heavy":    {{Key: "a", Weight: table.MaxWeight + 1}},
		"too many records": {{Key: "a", Records: table.MaxWeight + 1}},
		"no scope":         {{Group: rule.Group{Scope: 9}, Key: "a"}},
		"a name of none":   {{Group: rule.Group{Name: "x"}, Key: "a"}},
	} {
		t.Run(name, func(t *testing.T) { assert.Error(t, table.Write(io.Discard, meta, sequence(rows))) })
	}
	failing := func(yield func(table.Row, error) bool) { yield(table.Row{}, io.ErrUnexpectedEOF) }
	assert.ErrorIs(t, table.Write(io.Discard, meta, failing), io.ErrUnexpectedEOF)
}

func TestMergeAddsUpRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := map[table.Row]table.Row{}
		var tables []iter.Seq2[table.Row, error]
		for range rapid.IntRange(0, 6).Draw(t, "tables") {
			rows := map[table.Row]table.Row{}
			for range rapid.IntRange(0, 30).Draw(t, "rows") {
				id := table.Row{Group: rule.Group{Scope: rule.ScopeGroup, Name: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "group")}, Key: rapid.SampledFrom([]string{"", "k", "l", "m", "n"}).Draw(t, "key")}
				row := id
				row.Weight, row.Records = rapid.Uint64Range(0, 100).Draw(t, "weight"), 1
				if _, there := rows[id]; there {
					continue
				}
				rows[id] = row
				sum := want[id]
				sum.Group, sum.Key, sum.Weight, sum.Records = id.Group, id.Key, sum.Weight+row.Weight, sum.Records+row.Records
				want[id] = sum
			}
			tables = append(tables, sequence(values(rows)))
		}
		require.Equal(t, values(want), collect(t, table.Merge(tables...)))
	})
}

func values(rows map[table.Row]table.Row) []table.Row {
	var all []table.Row
	for _, row := range rows {
		all = append(all, row)
	}
	return sorted(all)
}

func TestMergeEndsWithTheFirstError(t *testing.T) {
	a := sequence([]table.Row{{Key: "a", Weight: 1}, {Key: "c", Weight: 1}})
	failing := func(yield func(table.Row, error) bool) {
		_ = yield(table.Row{Key: "b", Weight: 1}, nil) && yield(table.Row{}, io.ErrUnexpectedEOF)
	}
	var failed error
	for _, err := range table.Merge(a, failing) {
		failed = err
	}
	assert.ErrorIs(t, failed, io.ErrUnexpectedEOF)
	heavy := sequence([]table.Row{{Key: "a", Weight: table.MaxWeight}})
	for _, err := range table.Merge(a, heavy) {
		failed = err
	}
	assert.ErrorContains(t, failed, "add up to more than 2^63-1")
}

func TestReadingEndsWithItsContext(t *testing.T) {
	opened := open(t, write(t, meta, many(5000, 0)))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n, failed := 0, error(nil)
	for _, err := range opened.All(ctx) {
		if n++; n == 10 {
			cancel()
		}
		failed = err
	}
	assert.ErrorIs(t, failed, context.Canceled)
	assert.Less(t, n, 5000)
}
