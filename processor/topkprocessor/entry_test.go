package topkprocessor

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden file of testdata; what writes it must not change within a version of the format.
func golden(t testing.TB, name string, got []byte) []byte {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update && got != nil {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	return want
}

var goldenEpoch = wire.Epoch{1, 2, 3, 15: 16}

const goldenNow = 946_684_800_000_000_000

// goldenBatches of a plain rule, and of one with weights and groups.
func goldenBatches() []*rule.Batch {
	return []*rule.Batch{
		{Keys: []string{"a", "b", "a", ""}, Times: []int64{goldenNow, goldenNow - 1e9, goldenNow - 1e9, goldenNow + 5}},
		{
			Keys:    []string{"a", "a", "c"},
			Times:   []int64{goldenNow, goldenNow, goldenNow},
			Weights: []uint64{0, 300, 1 << 62},
			Groups:  []rule.Group{{Scope: rule.ScopeGroup, Name: "eu"}, {Scope: rule.ScopeMissing}, {Scope: rule.ScopeGroup, Name: "eu"}},
		},
	}
}

func goldenEntry() []byte {
	var e entry
	e.begin(goldenEpoch, goldenNow)
	for i, b := range goldenBatches() {
		e.append(i, b, 0, goldenNow)
	}
	return e.b
}

func TestTheEntryIsTheGoldenOne(t *testing.T) {
	want := golden(t, "entry", goldenEntry())
	assert.Equal(t, want, goldenEntry())
	run, now, columns, err := readEntry(want)
	require.NoError(t, err)
	assert.Equal(t, goldenEpoch, run)
	assert.EqualValues(t, goldenNow, now)
	require.Len(t, columns, 2)
	for i, b := range goldenBatches() {
		assert.Equal(t, i, columns[i].rule)
		assert.Equal(t, b, &columns[i].batch)
	}
}

func TestWhatIsRecordedReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var e entry
		for range 2 { // its memory is used again
			batches := rapid.SliceOfN(rapid.Custom(drawBatch), 1, 4).Draw(t, "batches")
			now := rapid.Int64().Draw(t, "now")
			got := make([]rule.Batch, len(batches))
			put := func() {
				_, at, columns, err := readEntry(e.b)
				require.NoError(t, err)
				require.Equal(t, now, at)
				for _, c := range columns {
					join(&got[c.rule], &c.batch)
				}
				e.begin(goldenEpoch, now)
			}
			e.begin(goldenEpoch, now)
			for i, b := range batches {
				for from := 0; from < len(b.Keys); {
					next := e.append(i, b, from, now)
					require.Greater(t, next, from)
					if from = next; e.full() {
						put()
					}
				}
			}
			if !e.empty() {
				put()
			}
			for i, b := range batches {
				require.Equal(t, b, &got[i])
			}
		}
	})
}

func join(to, more *rule.Batch) {
	to.Keys, to.Times = append(to.Keys, more.Keys...), append(to.Times, more.Times...)
	to.Weights, to.Groups = append(to.Weights, more.Weights...), append(to.Groups, more.Groups...)
}

func drawBatch(t *rapid.T) *rule.Batch {
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Repeat(rapid.StringN(0, 3, -1).Draw(t, "text"), rapid.SampledFrom([]int{1, 1, 1, 50, 2000}).Draw(t, "times"))
	})
	n := rapid.IntRange(1, 60).Draw(t, "records")
	b := &rule.Batch{Keys: rapid.SliceOfN(text, n, n).Draw(t, "keys"), Times: rapid.SliceOfN(rapid.Int64(), n, n).Draw(t, "at")}
	if rapid.Bool().Draw(t, "weighted") {
		b.Weights = rapid.SliceOfN(rapid.Uint64(), n, n).Draw(t, "weights")
	}
	if rapid.Bool().Draw(t, "grouped") {
		for range n {
			g := rule.Group{Scope: rule.ScopeMissing}
			if rapid.Bool().Draw(t, "in a group") {
				g = rule.Group{Scope: rule.ScopeGroup, Name: text.Draw(t, "group")}
			}
			b.Groups = append(b.Groups, g)
		}
	}
	return b
}

func TestOrderOfEntriesDecidesNothingWithAnEventClock(t *testing.T) {
	v := idleVault(t)
	r := v.counter.run()
	r.clock.Event = true
	rc, err := newRecount(v, r, 0)
	require.NoError(t, err)
	for _, ns := range []int64{goldenNow, goldenNow - int64(time.Hour), goldenNow - int64(time.Minute)} {
		var e entry
		e.begin(r.epoch, goldenNow)
		e.append(0, &rule.Batch{Keys: []string{"a"}, Times: []int64{ns}}, 0, goldenNow)
		require.NoError(t, rc.addEntry(e.b))
	}
	assert.Len(t, rc.finals(goldenNow), 3)
}

// malformed entries: a golden one, changed.
var malformedEntries = []struct {
	name   string
	change func(b []byte) []byte
}{
	{"nothing", func([]byte) []byte { return nil }},
	{"a later version", func(b []byte) []byte { return slices.Concat([]byte{2}, b[1:]) }},
	{"no end", func(b []byte) []byte { return b[:len(b)-1] }},
	{"half a head", func(b []byte) []byte { return b[:20] }},
	{"a flag that is not known", func(b []byte) []byte { return replaced(b, 26, 4) }},
	{"no records", func(b []byte) []byte { return replaced(b, 27, 0) }},
	{"more records than bytes", func(b []byte) []byte { return replaced(b, 30, 0xff) }},
	{"a reference to a text that is not there", func(b []byte) []byte { return replaced(b, 32, 0x7f) }},
	{"a key longer than the entry", func(b []byte) []byte { return replaced(b, 32, 0x7e) }},
	{"a scope that no record has", func(b []byte) []byte { return bytes.Replace(b, []byte("\x01\x04eu"), []byte("\x03\x04eu"), 1) }},
	{"a name where there is no group", func(b []byte) []byte { return bytes.Replace(b, []byte("\x01\x04eu"), []byte("\x02\x04eu"), 1) }},
}

func replaced(b []byte, at int, with byte) []byte {
	b = slices.Clone(b)
	b[at] = with
	return b
}

func TestMalformedEntriesAreRefused(t *testing.T) {
	for _, tt := range malformedEntries {
		t.Run(tt.name, func(t *testing.T) {
			_, _, _, err := readEntry(tt.change(goldenEntry()))
			assert.ErrorIs(t, err, errStored)
		})
	}
}

func FuzzEntry(f *testing.F) {
	f.Add(goldenEntry())
	for _, tt := range malformedEntries {
		f.Add(tt.change(goldenEntry()))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, now, columns, err := readEntry(b)
		if err != nil {
			return
		}
		for _, c := range columns {
			n := len(c.batch.Keys)
			require.NotZero(t, n)
			require.Len(t, c.batch.Times, n)
			for _, key := range c.batch.Keys {
				require.LessOrEqual(t, len(key), topk.MaxKeyBytes)
			}
			var e entry
			var back rule.Batch
			for from := 0; from < n; {
				e.begin(goldenEpoch, now)
				from = e.append(c.rule, &c.batch, from, now)
				_, _, again, err := readEntry(e.b)
				require.NoError(t, err)
				join(&back, &again[0].batch)
			}
			require.Equal(t, fmt.Sprint(c.batch.Keys, c.batch.Times, c.batch.Weights, c.batch.Groups),
				fmt.Sprint(back.Keys, back.Times, back.Weights, back.Groups))
		}
	})
}
