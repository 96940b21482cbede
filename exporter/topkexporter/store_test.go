package topkexporter

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// decoded is p as it arrives.
func decoded(t testing.TB, p published) (*wire.Snapshot, *wire.WindowSummary) {
	var snapshot *wire.Snapshot
	var summary *wire.WindowSummary
	for publication, err := range wire.Publications(logs(t, p)) {
		require.NoError(t, err)
		switch v := publication.(type) {
		case *wire.Snapshot:
			snapshot = v
		case *wire.WindowSummary:
			summary = v
		}
	}
	return snapshot, summary
}

// storeOf is a store of so many lists, in memory.
func storeOf(lists int) *store {
	config := createDefaultConfig().(*Config)
	config.MaxLists = lists
	return newStore(config)
}

// takeLists takes what came at now.
func (s *store) takeLists(snapshots []*wire.Snapshot, summaries []*wire.WindowSummary, now time.Time) tally {
	return s.take(context.Background(), &arrived{snapshots: snapshots, summaries: summaries}, now)
}

func (s *store) list(name string, id listID) *list {
	if r := s.catalog().rules[name]; r != nil {
		return r.lists[id]
	}
	return nil
}

var fiveMinutes = listID{window: 5 * time.Minute}

func TestAListAndItsSummaryAreReplacedTogether(t *testing.T) {
	d := tenants(t)
	older := counted(t, d, 5*time.Minute, rule.Group{}, map[string]uint64{"a": 1})
	newer := counted(t, d, 5*time.Minute, rule.Group{}, map[string]uint64{"a": 1, "b": 2})
	newer.AsOf = noon.Add(5 * time.Second)
	sameTime := counted(t, d, 5*time.Minute, rule.Group{}, map[string]uint64{"a": 1, "c": 9})
	oldList, oldSummary := decoded(t, older)
	newList, newSummary := decoded(t, newer)
	otherList, _ := decoded(t, sameTime)
	type batch struct {
		lists     []*wire.Snapshot
		summaries []*wire.WindowSummary
	}
	lists := func(l ...*wire.Snapshot) batch { return batch{lists: l} }
	summaries := func(s ...*wire.WindowSummary) batch { return batch{summaries: s} }
	both := func(l *wire.Snapshot, s *wire.WindowSummary) batch {
		return batch{[]*wire.Snapshot{l}, []*wire.WindowSummary{s}}
	}
	for _, tt := range []struct {
		name    string
		batches []batch
		list    *wire.Snapshot
		summary *wire.WindowSummary // nil: none
		tally   tally               // of the last batch
	}{
		{"together", []batch{both(newList, newSummary)}, newList, newSummary, tally{taken: 2}},
		{"the summary in a later batch", []batch{lists(newList), summaries(newSummary)}, newList, newSummary, tally{taken: 1}},
		{"only the list is newer", []batch{both(oldList, oldSummary), lists(newList)}, newList, nil, tally{taken: 1}},
		{"only the summary is newer", []batch{both(oldList, oldSummary), summaries(newSummary)}, oldList, oldSummary, tally{unpaired: 1}},
		{"a summary without any list", []batch{summaries(newSummary)}, nil, nil, tally{unpaired: 1}},
		{"an older list", []batch{both(newList, newSummary), both(oldList, oldSummary)}, newList, newSummary, tally{stale: 1, unpaired: 1}},
		{"the same list again", []batch{both(newList, newSummary), lists(newList)}, newList, newSummary, tally{taken: 1}},
		{"other counts of the same time", []batch{both(oldList, oldSummary), lists(otherList)}, otherList, nil, tally{taken: 1}},
		{"the newest of a batch in any order", []batch{lists(newList, oldList)}, newList, nil, tally{taken: 1, stale: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := storeOf(10)
			var got tally
			for _, b := range tt.batches {
				got = s.takeLists(b.lists, b.summaries, noon)
			}
			assert.Equal(t, tt.tally, got)
			l := s.list("tenants", fiveMinutes)
			if tt.list == nil {
				assert.Nil(t, l)
				return
			}
			require.NotNil(t, l)
			assert.Same(t, tt.list, l.Snapshot)
			if tt.summary == nil {
				assert.Nil(t, l.summary)
			} else {
				assert.Same(t, tt.summary.Summary, l.summary)
			}
		})
	}
}

func TestAnOlderListIsTakenWhenTheNewerOneIsAbandoned(t *testing.T) {
	d := tenants(t)
	newer := counted(t, d, 5*time.Minute, rule.Group{}, map[string]uint64{"a": 1})
	older := newer
	older.AsOf = noon.Add(-time.Hour)
	newList, _ := decoded(t, newer)
	oldList, _ := decoded(t, older)
	s := storeOf(10)
	s.takeLists([]*wire.Snapshot{newList}, nil, noon)
	assert.Equal(t, tally{stale: 1}, s.takeLists([]*wire.Snapshot{oldList}, nil, noon.Add(abandoned-1)))
	assert.Equal(t, tally{taken: 1}, s.takeLists([]*wire.Snapshot{oldList}, nil, noon.Add(abandoned)))
	assert.Same(t, oldList, s.list("tenants", fiveMinutes).Snapshot)
}

// groupList is the list of one group of the rule.
func groupList(t testing.TB, name, group string) *wire.Snapshot {
	p := counted(t, tenants(t, grouped, called(name)), 5*time.Minute, rule.Group{Scope: rule.ScopeGroup, Name: group}, map[string]uint64{"a": 1})
	l, _ := decoded(t, p)
	return l
}

func TestMaxListsHolds(t *testing.T) {
	s := storeOf(3)
	first := []*wire.Snapshot{groupList(t, "r", "a"), groupList(t, "r", "b"), groupList(t, "q", "c")}
	assert.Equal(t, tally{taken: 3}, s.takeLists(first, nil, noon))
	t.Run("a new list is refused while all others live", func(t *testing.T) {
		got := s.takeLists([]*wire.Snapshot{groupList(t, "r", "d"), groupList(t, "r", "a")}, nil, noon.Add(time.Minute))
		assert.Equal(t, tally{taken: 1, overLimit: 1, limited: "r"}, got)
	})
	t.Run("it takes the place of the one that is idle longest", func(t *testing.T) {
		later := noon.Add(abandoned)
		got := s.takeLists([]*wire.Snapshot{groupList(t, "r", "b"), groupList(t, "r", "d"), groupList(t, "r", "e")}, nil, later)
		assert.Equal(t, tally{taken: 2, removed: 1, overLimit: 1, limited: "r"}, got)
		assert.Equal(t, []string{"r"}, s.catalog().names, "a rule without lists is gone")
		assert.Equal(t, []string{"a", "b", "d"}, s.catalog().rules["r"].groups)
		assert.Equal(t, 3, s.catalog().lists)
	})
}

func TestReadersKeepTheCatalogTheyHave(t *testing.T) {
	d := tenants(t)
	s := storeOf(1000)
	l, w := decoded(t, counted(t, d, 5*time.Minute, rule.Group{}, map[string]uint64{"a": 1}))
	s.takeLists([]*wire.Snapshot{l}, []*wire.WindowSummary{w}, noon)
	before := s.catalog()
	for i := range 100 {
		n, m := decoded(t, counted(t, d, 5*time.Minute, rule.Group{}, map[string]uint64{"a": uint64(i + 2)}))
		s.takeLists([]*wire.Snapshot{n, groupList(t, "tenants", fmt.Sprint(i))}, []*wire.WindowSummary{m}, noon)
	}
	assert.Equal(t, 1, before.lists)
	assert.Len(t, before.rules["tenants"].lists, 1)
	assert.Same(t, l, before.rules["tenants"].lists[fiveMinutes].Snapshot)
	assert.Equal(t, uint64(101), s.list("tenants", fiveMinutes).Total)
}
