package topkexporter

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/topk"
)

// ranked keys weigh less and less.
func ranked(keys ...string) []topk.Item {
	items := make([]topk.Item, len(keys))
	for i, key := range keys {
		items[i] = topk.Item{Key: key, Estimate: uint64(1000 - i)}
	}
	return items
}

func numbered(first, last int) (keys []string) {
	for i := first; i <= last; i++ {
		keys = append(keys, fmt.Sprint(i))
	}
	return keys
}

func shown(s *keySeries, items []topk.Item) (keys []string) {
	s.each(items, func(key string, _ uint64) { keys = append(keys, key) })
	return keys
}

func TestAKeyEntersWithTheFirstTenAndLeavesBelowTwenty(t *testing.T) {
	now := noon
	var s *keySeries
	items := ranked(numbered(1, 30)...)
	s = s.next(items, now)
	assert.Equal(t, numbered(1, 10), shown(s, items), "the first ten")

	items = ranked(append(numbered(11, 20), numbered(1, 10)...)...)
	s = s.next(items, now.Add(time.Minute))
	assert.Equal(t, append(numbered(11, 20), numbered(1, 10)...), shown(s, items), "those that fell to rank 20 stay")

	items = ranked(append(numbered(11, 21), numbered(1, 10)...)...)
	s = s.next(items, now.Add(2*time.Minute))
	assert.Equal(t, append(numbered(11, 20), numbered(1, 9)...), shown(s, items), "21 is at rank 11, and 10 has left")

	items = ranked("1")
	s = s.next(items, now.Add(3*time.Minute))
	assert.Equal(t, []string{"1"}, shown(s, items))
	assert.Empty(t, shown(s.next(nil, now.Add(4*time.Minute)), nil))
}

func TestKeysBeyondTheBudgetOfAnHourAreOneSeries(t *testing.T) {
	now := noon
	var s *keySeries
	for first := 1; first <= newKeys; first += exposedRanks {
		s = s.next(ranked(numbered(first, first+exposedRanks-1)...), now)
		now = now.Add(time.Minute)
	}
	items := ranked("new", "1", "newer")
	s = s.next(items, now)
	assert.Equal(t, []string{"1"}, shown(s, items), "it had a series within the hour")
	others, weight := s.each(items, func(string, uint64) {})
	assert.Equal(t, 2, others)
	assert.EqualValues(t, 1000+998, weight)

	now = now.Add(newKeysTime)
	s = s.next(items, now)
	assert.Equal(t, []string{"new", "1", "newer"}, shown(s, items))
}

// Whatever changes places: so many series at a time, so many keys in an hour, and every key of the first ten is in one of them.
func TestSeriesByKeyStayWithinTheirBudget(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		last := map[string]time.Time{}
		keys, now := numbered(1, 200), noon
		var s *keySeries
		for range 500 {
			now = now.Add(time.Duration(r.Int64N(int64(2 * time.Minute))))
			for range r.IntN(8) {
				i, j := r.IntN(len(keys)), r.IntN(25)
				keys[i], keys[j] = keys[j], keys[i]
			}
			items := ranked(keys[:r.IntN(60)]...)
			before := s
			s = s.next(items, now)
			own, covered := 0, 0
			others, _ := s.each(items, func(key string, _ uint64) {
				own++
				last[key] = now
			})
			for i, item := range items[:min(len(items), keysFollowed)] {
				if before != nil && before.shown[item.Key] {
					require.True(t, s.shown[item.Key], "a key that is followed stays")
				}
				if i < exposedRanks && s.shown[item.Key] {
					covered++
				}
			}
			require.LessOrEqual(t, own, keysFollowed)
			require.Equal(t, min(len(items), exposedRanks), covered+others)
			for key, at := range last {
				if now.Sub(at) >= newKeysTime {
					delete(last, key)
				}
			}
			require.LessOrEqual(t, len(last), newKeys)
		}
	}
}
