package topkexporter

import (
	"time"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/topk"
)

// Budget of the series by key of one global list: at a time as many as keysFollowed, in an hour newKeys, and one more for the keys
// that find no place.
const (
	keysFollowed = 2 * exposedRanks
	newKeys      = 100
	newKeysTime  = time.Hour
)

// keySeries are the keys of one global list that have a series of their own: a key enters with the first exposedRanks, and leaves when
// it is no more among the first keysFollowed, so that one that goes to and fro at the last rank does not come and go as a series.
// It is immutable; nil is one without keys.
type keySeries struct {
	shown  map[string]bool
	recent map[string]time.Time // keys that had a series within newKeysTime, and when they last had
}

// follow gives l, if it is a global list, the series that come after those of old, which may be nil.
func (l *list) follow(old *list, now time.Time) {
	if l.Group != (rule.Group{}) {
		return
	}
	var before *keySeries
	if old != nil {
		before = old.series
	}
	l.series = before.next(l.List.Items, now)
}

// next are those of the list that follows, of items, published at now.
func (s *keySeries) next(items []topk.Item, now time.Time) *keySeries {
	n := &keySeries{shown: map[string]bool{}, recent: map[string]time.Time{}}
	if s != nil {
		for key, last := range s.recent {
			if now.Sub(last) < newKeysTime {
				n.recent[key] = last
			}
		}
	}
	for i := range items[:min(len(items), keysFollowed)] {
		key := items[i].Key
		_, recent := n.recent[key]
		switch {
		case s != nil && s.shown[key]:
		case i < exposedRanks && (recent || len(n.recent) < newKeys):
		default:
			continue
		}
		n.shown[key], n.recent[key] = true, now
	}
	return n
}

// each calls own with the estimate of every key that has a series, and returns how many of the first exposedRanks have none and
// what they weigh together.
func (s *keySeries) each(items []topk.Item, own func(key string, estimate uint64)) (others int, weight uint64) {
	for i := range items[:min(len(items), keysFollowed)] {
		item := &items[i]
		if s.shown[item.Key] {
			own(item.Key, item.Estimate)
		} else if i < exposedRanks {
			others++
			weight += item.Estimate
		}
	}
	return others, weight
}
