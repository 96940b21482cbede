package topkexporter

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire"
)

// abandoned is how long after its last publication a list may give way: to a new one when max_lists is reached, or to one
// with an older as_of. Unchanged lists are published again every minute.
const abandoned = 5 * time.Minute

// tally counts what became of publications.
type tally struct {
	taken     int64
	stale     int64 // older than what is served
	unpaired  int64 // window summaries without their snapshot
	overLimit int64 // new lists beyond max_lists
	removed   int64 // lists that gave way to new ones

	limited string // a rule that lost a list to the limit
}

// store publishes catalogs: each is made from the one before and what came, and readers take whichever is current.
type store struct {
	maxLists int
	writing  sync.Mutex
	current  atomic.Pointer[catalog]
}

func newStore(maxLists int) *store {
	s := &store{maxLists: maxLists}
	s.current.Store(&catalog{})
	return s
}

// catalog is what is served now.
func (s *store) catalog() *catalog { return s.current.Load() }

// take publishes a catalog with what came at now. A snapshot and its window summary replace the ones before together.
func (s *store) take(snapshots []*wire.Snapshot, summaries []*wire.WindowSummary, now time.Time) tally {
	if len(snapshots)+len(summaries) == 0 {
		return tally{}
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	d := newDraft(s.current.Load(), s.maxLists, now)
	for _, snapshot := range snapshots {
		d.snapshot(snapshot)
	}
	for _, summary := range summaries {
		d.summary(summary)
	}
	s.current.Store(d.finish())
	return d.tally
}

// draft is a catalog in the making: rules that change are cloned once, lists are replaced.
type draft struct {
	catalog
	changed  map[string]bool // rules that are clones
	maxLists int
	now      time.Time
	idle     []*list // that may give way; nil: not looked for yet
	tally    tally
}

func newDraft(old *catalog, maxLists int, now time.Time) *draft {
	d := &draft{changed: map[string]bool{}, maxLists: maxLists, now: now}
	d.rules, d.lists = maps.Clone(old.rules), old.lists
	if d.rules == nil {
		d.rules = map[string]*ruleLists{}
	}
	return d
}

func (d *draft) rule(name string) *ruleLists {
	r := d.rules[name]
	switch {
	case r == nil:
		r = &ruleLists{lists: map[listID]*list{}}
	case !d.changed[name]:
		r = r.clone()
	}
	d.rules[name], d.changed[name] = r, true
	return r
}

func (d *draft) snapshot(s *wire.Snapshot) {
	id := listID{s.Window, s.Group}
	var old *list
	if r := d.rules[s.Rule.Name]; r != nil {
		old = r.lists[id]
	}
	switch {
	case old == nil:
		if d.lists >= d.maxLists && !d.makeRoom() {
			d.tally.overLimit++
			d.tally.limited = s.Rule.Name
			return
		}
		d.lists++
	case s.AsOf.Before(old.AsOf) && d.now.Sub(old.received) < abandoned:
		d.tally.stale++
		return
	}
	l := &list{Snapshot: s, received: d.now}
	if old != nil && old.same(s) {
		l.summary = old.summary
	}
	r := d.rule(s.Rule.Name)
	r.lists[id] = l
	if r.keyed != nil && !countAlike(r.keyed, s.Rule) {
		r.keyed = nil
	}
	d.tally.taken++
}

// makeRoom removes the list that was published longest ago, if that is long enough.
func (d *draft) makeRoom() bool {
	if d.idle == nil {
		d.idle = d.findIdle()
	}
	for len(d.idle) > 0 {
		oldest := d.idle[0]
		d.idle = d.idle[1:]
		name := oldest.Rule.Name
		if d.rules[name].lists[oldest.id()] != oldest {
			continue // published again in this very batch
		}
		r := d.rule(name)
		delete(r.lists, oldest.id())
		if len(r.lists) == 0 {
			delete(d.rules, name)
		}
		d.lists--
		d.tally.removed++
		d.tally.limited = name
		return true
	}
	return false
}

// findIdle lists what may give way, the longest idle first.
func (d *draft) findIdle() []*list {
	idle := []*list{}
	for _, r := range d.rules {
		for _, l := range r.lists {
			if d.now.Sub(l.received) >= abandoned {
				idle = append(idle, l)
			}
		}
	}
	slices.SortFunc(idle, func(a, b *list) int { return a.received.Compare(b.received) })
	return idle
}

func (d *draft) summary(w *wire.WindowSummary) {
	id := listID{w.Window, w.Group}
	r := d.rules[w.Rule.Name]
	if r == nil || r.lists[id] == nil || !belongs(w, r.lists[id].Snapshot) {
		d.tally.unpaired++
		return
	}
	r = d.rule(w.Rule.Name)
	l := *r.lists[id]
	l.summary = w.Summary
	r.lists[id], r.keyed = &l, w.Rule
	d.tally.taken++
}

// countAlike says whether a and b count the same, the seed aside.
func countAlike(a, b *rule.Definition) bool {
	x, y := *a, *b
	x.Shape.Seed, y.Shape.Seed = 0, 0
	return x.Fingerprint() == y.Fingerprint()
}

func (d *draft) finish() *catalog {
	for name := range d.changed {
		if r := d.rules[name]; r != nil {
			r.index()
		}
	}
	return &catalog{rules: d.rules, names: slices.Sorted(maps.Keys(d.rules)), lists: d.lists}
}
