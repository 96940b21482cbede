package oracle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func counts(weights map[string]uint64) *Counts {
	c := NewCounts()
	for key, weight := range weights {
		c.Add(key, weight)
	}
	return c
}

// served is a lawful answer for k = 3 over exact.
func served() (*List, *Counts) {
	exact := counts(map[string]uint64{"a": 50, "b": 30, "c": 10, "d": 10, "e": 1})
	list := &List{
		Certified: true, Total: 101, TotalUpper: 101, Other: 101 - 50 - 30 - 10, Records: 5, Theta: 10,
		Items: []Item{
			{Rank: 1, Key: "a", Estimate: 50, Lower: 50, Share: 50. / 101, Certain: true, RankCertain: true},
			{Rank: 2, Key: "b", Estimate: 33, Lower: 30, ErrorBound: 3, Share: 33. / 101, Certain: true, RankCertain: true},
			{Rank: 3, Key: "c", Estimate: 10, Lower: 10, Share: 10. / 101, Certain: true, RankCertain: true},
		},
	}
	return list, exact
}

func TestALawfulListPasses(t *testing.T) {
	list, exact := served()
	assert.NoError(t, list.Law(exact, 3))
	assert.NoError(t, list.Same(exact, 3))
	list.Items[2].Key = "d" // of the same weight
	assert.NoError(t, list.Law(exact, 3))
	assert.NoError(t, list.Same(exact, 3))
}

func TestEachBrokenPromiseIsFound(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*List, *Counts)
		want   string
	}{
		"total":                   {func(l *List, _ *Counts) { l.Total++ }, "total is 102, not 101"},
		"total_upper":             {func(l *List, _ *Counts) { l.TotalUpper = 100 }, "total_upper 100 is below"},
		"other":                   {func(l *List, _ *Counts) { l.Other++ }, "other is 12"},
		"records":                 {func(l *List, _ *Counts) { l.Records++ }, "records is 6, not 5"},
		"theta":                   {func(l *List, _ *Counts) { l.Theta = 9 }, `"d" is not listed and weighs 10, more than theta 9`},
		"too many items":          {func(l *List, _ *Counts) { l.Items = append(l.Items, Item{}) }, "more than 3"},
		"twice":                   {func(l *List, _ *Counts) { l.Items[1].Key = "a" }, "listed twice"},
		"rank":                    {func(l *List, _ *Counts) { l.Items[1].Rank = 3 }, "has rank 3"},
		"order":                   {func(l *List, _ *Counts) { l.Items[0].Estimate = 9 }, "out of order"},
		"order of ties":           {func(l *List, _ *Counts) { l.Items[1] = l.Items[2]; l.Items[1].Key = "d" }, "out of order"},
		"too low an estimate":     {func(l *List, _ *Counts) { l.Items[1].Estimate = 29 }, "outside 30 to 29"},
		"too high a lower bound":  {func(l *List, _ *Counts) { l.Items[1].Lower = 31 }, "outside 31 to 33"},
		"error_bound":             {func(l *List, _ *Counts) { l.Items[1].ErrorBound = 4 }, "error_bound 4"},
		"share":                   {func(l *List, _ *Counts) { l.Items[1].Share = 0.1 }, "share 0.1"},
		"certain, not a member":   {func(l *List, c *Counts) { c.Weights["x"], c.Weights["y"] = 60, 60 }, "3 keys weigh more than its 30"},
		"rank certain, not there": {func(l *List, c *Counts) { c.Weights["x"] = 40 }, "rank_certain, yet weighs 30"},
		"certified, too short":    {func(l *List, _ *Counts) { l.Items = l.Items[:2] }, "2 items are listed of 5"},
		"certified, not certain":  {func(l *List, _ *Counts) { l.Items[1].Certain = false }, "item 2 is not certain"},
	} {
		t.Run(name, func(t *testing.T) {
			list, exact := served()
			tc.change(list, exact)
			assert.ErrorContains(t, list.Law(exact, 3), tc.want)
		})
	}
}

func TestAListThatIsNotTheExactOneIsFound(t *testing.T) {
	list, exact := served()
	list.Items[2].Key = "e"
	assert.ErrorContains(t, list.Same(exact, 3), `place 3 holds "e" of 1, not "c" of 10`)
	list.Items = list.Items[:2]
	assert.ErrorContains(t, list.Same(exact, 3), "2 items are listed, not 3")
	assert.NoError(t, (&List{}).Same(NewCounts(), 3))
}

func TestPointCountsAreHeldAgainstTheirBounds(t *testing.T) {
	_, exact := served()
	assert.NoError(t, (&Point{Key: "b", Estimate: 31, Lower: 30, ErrorBound: 1}).Law(exact))
	assert.NoError(t, (&Point{Key: "unknown", Estimate: 3, ErrorBound: 3}).Law(exact))
	assert.Error(t, (&Point{Key: "b", Estimate: 29, Lower: 29}).Law(exact))
	assert.Error(t, (&Point{Key: "b", Estimate: 32, Lower: 31, ErrorBound: 1}).Law(exact))
	assert.Error(t, (&Point{Key: "b", Estimate: 31, Lower: 30}).Law(exact))
}

func TestATallyCountsByMinuteAndGroup(t *testing.T) {
	noon := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	var tally Tally
	add := func(at time.Duration, g Group, key string, weight uint64) {
		tally.Add(noon.Add(at).UnixNano(), g, key, weight)
	}
	add(0, Named("eu"), "a", 2)
	add(59*time.Second, Named("us"), "a", 3)
	add(60*time.Second, Missing, "b", 5)
	add(125*time.Second, Global, "b", 7)
	add(180*time.Second, Named("eu"), "c", 11)

	require.Equal(t, noon.Add(3*time.Minute), tally.Newest())
	window := tally.Window(noon, noon.Add(125*time.Second), Global)
	assert.Equal(t, []Count{{"b", 12}, {"a", 5}}, window.Ranked())
	assert.EqualValues(t, 17, window.Total)
	assert.EqualValues(t, 4, window.Records)
	assert.Equal(t, []Count{{"a", 2}}, tally.Window(noon, noon.Add(time.Minute), Named("eu")).Ranked())
	assert.Equal(t, []Count{{"b", 5}}, tally.Window(noon, noon.Add(time.Minute), Missing).Ranked())
	assert.Empty(t, tally.Window(noon.Add(time.Hour), noon.Add(2*time.Hour), Global).Ranked())
	assert.ElementsMatch(t, []Group{Global, Missing, Named("eu"), Named("us")}, tally.Groups())
}
