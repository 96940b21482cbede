package recount

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/table"
)

// oracle counts in a map.
type oracle map[table.Row]*table.Row // by group and key

func (o oracle) add(g rule.Group, key string, weight uint64) {
	id := table.Row{Group: g, Key: key}
	if o[id] == nil {
		o[id] = &table.Row{Group: g, Key: key}
	}
	o[id].Weight += weight
	o[id].Records++
}

// rows sorted by scope, group and key.
func (o oracle) rows() (rows []table.Row) {
	for _, r := range o {
		rows = append(rows, *r)
	}
	slices.SortFunc(rows, func(a, b table.Row) int {
		return cmp.Or(cmp.Compare(a.Group.Scope, b.Group.Scope), cmp.Compare(a.Group.Name, b.Group.Name), cmp.Compare(a.Key, b.Key))
	})
	return rows
}

func (o oracle) top(g rule.Group, k int) (rows []table.Row) {
	for _, r := range o {
		if r.Group == g && r.Weight > 0 {
			rows = append(rows, *r)
		}
	}
	slices.SortFunc(rows, table.Heavier)
	return slices.Clip(rows[:min(k, len(rows))])
}

// sums of o's lists, sorted by scope and group.
func (o oracle) sums(first rule.Group) []table.Sum {
	sums := []table.Sum{{Group: first}}
	for _, r := range o.rows() {
		if r.Group != sums[len(sums)-1].Group {
			sums = append(sums, table.Sum{Group: r.Group})
		}
		s := &sums[len(sums)-1]
		s.Weight += r.Weight
		s.Records += r.Records
		if r.Weight > 0 {
			s.Distinct++
		}
	}
	return sums
}

func collect(t require.TestingT, c *Counts) (rows []table.Row) {
	for r, err := range c.Rows() {
		require.NoError(t, err)
		rows = append(rows, r)
	}
	return rows
}

// aKey is one of those that sorting by words of 8 bytes may confuse.
func aKey(r *rand.Rand) string {
	switch r.IntN(4) {
	case 0:
		return []string{"", "\x00", "\xff", strings.Repeat("k", 300), strings.Repeat("k", 299) + "\x00"}[r.IntN(5)]
	case 1:
		key := make([]byte, r.IntN(19))
		for i := range key {
			key[i] = "ab\x00"[r.IntN(3)]
		}
		return string(key)
	default:
		return fmt.Sprintf("tenant-%06d", r.IntN(3000))
	}
}

func aBatch(r *rand.Rand, records int, weighted, grouped bool) *rule.Batch {
	b := new(rule.Batch)
	groups := []rule.Group{{Scope: rule.ScopeMissing}, {Scope: rule.ScopeGroup}, {Scope: rule.ScopeGroup, Name: "eu"}, {Scope: rule.ScopeGroup, Name: "us"}}
	for range records {
		b.Keys = append(b.Keys, aKey(r))
		if weighted {
			b.Weights = append(b.Weights, r.Uint64N(6))
		}
		if grouped {
			b.Groups = append(b.Groups, groups[r.IntN(len(groups))])
		}
	}
	return b
}

func (o oracle) addBatch(b *rule.Batch) {
	for i, key := range b.Keys {
		w := uint64(1)
		if b.Weights != nil {
			w = b.Weights[i]
		}
		o.add(rule.Group{}, key, w)
		if b.Groups != nil {
			o.add(b.Groups[i], key, w)
		}
	}
}

func TestATallyCountsAsAMapDoesWhateverItsBudget(t *testing.T) {
	spilled := 0
	rapid.Check(t, func(t *rapid.T) {
		weighted, grouped := rapid.Bool().Draw(t, "weighted"), rapid.Bool().Draw(t, "grouped")
		budget := rapid.SampledFrom([]int64{1, 10 << 10, 150 << 10, 64 << 20}).Draw(t, "budget")
		tally := newTally(budget, newLists(nil, 1<<20), weighted, grouped, newSpill(""))
		want := oracle{}
		r := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "seed")))
		for range rapid.IntRange(0, 6).Draw(t, "batches") {
			b := aBatch(r, rapid.IntRange(0, 2000).Draw(t, "records"), weighted, grouped)
			want.addBatch(b)
			require.NoError(t, tally.add(b))
		}
		counts, err := tally.finish(context.Background())
		require.NoError(t, err)
		defer counts.Close()
		if tally.spill.end > 0 {
			spilled++
		}
		require.Equal(t, want.rows(), collect(t, counts))
		require.Equal(t, want.rows(), collect(t, counts), "again")
		require.Equal(t, want.sums(rule.Group{}), counts.Sums())
		k := rapid.IntRange(1, 50).Draw(t, "k")
		for _, s := range counts.Sums() {
			top, err := counts.Top(s.Group, k)
			require.NoError(t, err)
			require.Equal(t, want.top(s.Group, k), top)
		}
	})
	require.NotZero(t, spilled)
}

func TestATallyStaysInItsBudget(t *testing.T) {
	const budget = 2 << 20
	tally := newTally(budget, newLists(nil, budget/4), false, false, newSpill(t.TempDir()))
	b := &rule.Batch{Keys: make([]string, 1000)}
	for i := range 100 {
		for j := range b.Keys {
			b.Keys[j] = fmt.Sprintf("key-%d", i*1000+j)
		}
		require.NoError(t, tally.add(b))
		require.LessOrEqual(t, tally.used(), int64(budget))
	}
	counts, err := tally.finish(context.Background())
	require.NoError(t, err)
	require.EqualValues(t, 100_000, counts.Sums()[0].Distinct)
	require.NotZero(t, tally.spill.end)
	require.NoError(t, counts.Close())
}

func TestManyRunsAreMergedFewAtOnce(t *testing.T) {
	tally := newTally(8*readBytes, newLists(nil, 1<<20), true, true, newSpill(t.TempDir()))
	want := oracle{}
	for i := range 40 {
		b := &rule.Batch{}
		for j := range 50 {
			b.Keys = append(b.Keys, fmt.Sprint((i*7+j)%90))
			b.Weights = append(b.Weights, uint64(i))
			b.Groups = append(b.Groups, rule.Group{Scope: rule.ScopeGroup, Name: fmt.Sprint(40 - i/3)})
		}
		want.addBatch(b)
		require.NoError(t, tally.add(b))
		require.NoError(t, tally.flush())
	}
	require.Len(t, tally.spill.runs, 40)
	counts, err := tally.finish(context.Background())
	require.NoError(t, err)
	defer counts.Close()
	require.Equal(t, want.rows(), collect(t, counts))
}

func TestKeysThatAreAskedForAreListedAndTheOthersAreOnlyInTheSums(t *testing.T) {
	tally := newTally(1<<20, newLists(nil, 1<<20), true, true, newSpill(""))
	require.NoError(t, tally.ask([]string{"never", "a"}))
	eu := rule.Group{Scope: rule.ScopeGroup, Name: "eu"}
	require.NoError(t, tally.add(&rule.Batch{Keys: []string{"a", "b", "a"}, Weights: []uint64{1, 2, 4}, Groups: []rule.Group{eu, eu, {Scope: rule.ScopeMissing}}}))
	counts, err := tally.finish(context.Background())
	require.NoError(t, err)
	require.Equal(t, []table.Row{
		{Key: "a", Weight: 5, Records: 2},
		{Key: "never"},
		{Group: eu, Key: "a", Weight: 1, Records: 1},
		{Group: rule.Group{Scope: rule.ScopeMissing}, Key: "a", Weight: 4, Records: 1},
	}, collect(t, counts))
	require.Equal(t, []table.Sum{
		{Weight: 7, Records: 3, Distinct: 1},
		{Group: eu, Weight: 3, Records: 2, Distinct: 1},
		{Group: rule.Group{Scope: rule.ScopeMissing}, Weight: 4, Records: 1, Distinct: 1},
	}, counts.Sums())
}

func TestOneListCountsItsGroupAlone(t *testing.T) {
	eu := rule.Group{Scope: rule.ScopeGroup, Name: "eu"}
	tally := newTally(1<<20, newLists(&eu, 1<<20), false, false, newSpill(""))
	require.NoError(t, tally.add(&rule.Batch{Keys: []string{"a", "b", "a"}, Groups: []rule.Group{eu, {Scope: rule.ScopeGroup}, eu}}))
	counts, err := tally.finish(context.Background())
	require.NoError(t, err)
	require.Equal(t, []table.Row{{Group: eu, Key: "a", Weight: 2, Records: 2}}, collect(t, counts))
	require.Equal(t, []table.Sum{{Group: eu, Weight: 2, Records: 2, Distinct: 1}}, counts.Sums())
	other, err := counts.Top(rule.Group{}, 10)
	require.NoError(t, err)
	require.Empty(t, other)
}

func TestWhatDoesNotFitIsAnError(t *testing.T) {
	heavy := &rule.Batch{Keys: slices.Repeat([]string{"a"}, 1024), Weights: slices.Repeat([]uint64{rule.MaxWeight}, 1024)}
	tally := newTally(1<<20, newLists(nil, 1<<20), true, false, newSpill(""))
	require.NoError(t, tally.add(heavy), "2^63 is the most")
	require.EqualError(t, tally.add(&rule.Batch{Keys: []string{"b"}, Weights: []uint64{1}}), "the weights of the list global add up to more than 2^63")

	tally = newTally(1<<20, newLists(nil, 10*(listBytes+1)), false, true, newSpill(""))
	for i := range 10 {
		require.NoError(t, tally.add(&rule.Batch{Keys: []string{"a"}, Groups: []rule.Group{{Scope: rule.ScopeGroup, Name: fmt.Sprint(i)}}}))
	}
	require.EqualError(t, tally.add(&rule.Batch{Keys: []string{"a"}, Groups: []rule.Group{{Scope: rule.ScopeGroup, Name: "x"}}}),
		"group_by has more than 10 groups, for which 1048576 bytes (memory_limit) are too few")
}

func TestNothingIsLeftInTheDirectory(t *testing.T) {
	directory := t.TempDir()
	tally := newTally(1, newLists(nil, 1<<20), false, false, newSpill(directory))
	require.NoError(t, tally.add(&rule.Batch{Keys: []string{"a"}}))
	require.NoError(t, tally.flush())
	left, err := os.ReadDir(directory)
	require.NoError(t, err)
	require.Empty(t, left, "also while it is written")
	counts, err := tally.finish(context.Background())
	require.NoError(t, err)
	require.NoError(t, counts.Close())
	require.NoError(t, counts.Close(), "again")
}

func TestADirectoryThatCannotBeWrittenIsNamed(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	tally := newTally(1, newLists(nil, 1<<20), false, false, newSpill(none))
	require.NoError(t, tally.add(&rule.Batch{Keys: []string{"a"}}))
	err := tally.flush()
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "cannot spill to the directory "+none+": ")
}

func TestACancelledMergeEnds(t *testing.T) {
	tally := newTally(1<<20, newLists(nil, 1<<20), false, false, newSpill(""))
	b := &rule.Batch{}
	for i := range checkEvery {
		b.Keys = append(b.Keys, fmt.Sprint(i))
	}
	require.NoError(t, tally.add(b))
	require.NoError(t, tally.flush())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := tally.finish(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, tally.spill.close())
}
