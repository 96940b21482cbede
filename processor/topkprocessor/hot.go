package topkprocessor

import (
	"math"
	"sync"
	"time"

	"github.com/otel-topk/collector/topk"
)

const (
	trafficSpan = 30 * time.Second // that one summary of traffic covers; a key is hot at most two of them after it was
	trafficRead = time.Second      // between two looks at what is hot
	leastHot    = 100              // records of a hot key in two spans: below, its share says nothing
)

// traffic finds the keys that have more than a share of the records of this process: it counts in two summaries, one of this span
// and one of the span before.
type traffic struct {
	share float64

	mu          sync.Mutex
	now, before *topk.Summary
	began, read time.Time
}

func newTraffic(share float64, seed uint64) (*traffic, error) {
	shape, err := topk.NewShape(share/4, 0.01, seed) // what it overcounts a key by is a part of the share
	if err != nil {
		return nil, err
	}
	t := &traffic{share: share}
	if t.now, err = topk.New(int(8/share), shape); err != nil {
		return nil, err
	}
	t.before = t.now.Clone()
	return t, nil
}

// add keys that came at a time. Once a trafficRead it returns those that are hot, with read. Where it is busy with another
// request it does nothing: what is hot is so in others too.
func (t *traffic) add(keys []string, at time.Time) (hot []string, read bool) {
	if !t.mu.TryLock() {
		return nil, false
	}
	defer t.mu.Unlock()
	t.turn(at)
	if err := t.now.AddBatch(keys, nil); err != nil {
		return nil, false // it is full: for 2^63 records nothing changes
	}
	if since := at.Sub(t.read); since >= 0 && since < trafficRead {
		return nil, false
	}
	t.read = at
	return t.hot(), true
}

// turn to the next span where this one is over.
func (t *traffic) turn(at time.Time) {
	since := at.Sub(t.began)
	if since >= 0 && since < trafficSpan {
		return
	}
	t.now, t.before = t.before, t.now
	t.now.Reset()
	if since >= 2*trafficSpan {
		t.before.Reset()
	}
	t.began = at
}

func (t *traffic) hot() []string {
	both := t.before.Clone()
	if err := both.Merge(t.now); err != nil {
		both = t.now
	}
	return hottest(both.Top(most(t.share)).Items, both.Total(), t.share)
}

// most keys that can have a share.
func most(share float64) int { return int(math.Floor(1 / share)) }

// hottest are the keys that have a share of total for certain.
func hottest(items []topk.Item, total uint64, share float64) []string {
	least := max(leastHot, uint64(math.Ceil(share*float64(total))))
	var hot []string
	for _, it := range items {
		if it.Lower >= least {
			hot = append(hot, it.Key)
		}
	}
	return hot
}
