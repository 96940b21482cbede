package topkexporter

import (
	"context"
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

// arrived is what came in one request.
type arrived struct {
	snapshots []*wire.Snapshot
	summaries []*wire.WindowSummary
	rollups   []*wire.Rollup
}

// tally counts what became of publications.
type tally struct {
	taken     int64
	stale     int64 // older than what is served, or kept already
	unpaired  int64 // window summaries without their snapshot
	overLimit int64 // new lists beyond max_lists, hours beyond max_history_size
	removed   int64 // lists that gave way to new ones
	ahead     int64 // hours that are not over

	limited string // a rule that lost a list to the limit
}

// store publishes catalogs: each is made from the one before and what came, and readers take whichever is current.
type store struct {
	maxLists int
	writing  sync.Mutex // of catalogs, and of history and storage
	current  atomic.Pointer[catalog]
	history  *history
	storage  *storage
	shared   func(*catalog, map[ruleList]struct{}) // is told of lists that are new, or gone; nil: nobody is
}

func newStore(config *Config) *store {
	s := &store{maxLists: config.MaxLists}
	s.use(newMemory(), config)
	s.current.Store(&catalog{})
	return s
}

// use keeps everything in storage from now on.
func (s *store) use(storage *storage, config *Config) {
	keep, size := config.historyBounds(storage.durable)
	s.storage, s.history = storage, newHistory(storage, keep, size)
}

// catalog is what is served now.
func (s *store) catalog() *catalog { return s.current.Load() }

// take publishes a catalog with what came at now, once it is durable or is clear not to be soon. A snapshot and its window
// summary replace the ones before together.
func (s *store) take(ctx context.Context, a *arrived, now time.Time) tally {
	s.writing.Lock()
	defer s.writing.Unlock()
	d := newDraft(s.current.Load(), s.maxLists, now)
	for _, snapshot := range a.snapshots {
		d.snapshot(snapshot)
	}
	for _, summary := range a.summaries {
		d.summary(summary)
	}
	next := d.finish()
	if s.storage.durable {
		d.stage(s.storage)
	}
	s.history.take(a.rollups, now, &d.tally)
	s.commit(ctx)
	if len(d.touched) > 0 {
		s.current.Store(next)
	}
	if s.shared != nil {
		s.shared(next, d.touched)
	}
	return d.tally
}

// tend forgets what was kept long enough and writes what could not be written before.
func (s *store) tend(ctx context.Context, now time.Time) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.history.take(nil, now, &tally{})
	s.commit(ctx)
}

func (s *store) commit(ctx context.Context) { s.history.committed(s.storage.commit(ctx)) }

// draft is a catalog in the making: rules that change are cloned once, lists are replaced.
type draft struct {
	catalog
	changed  map[string]bool       // rules that are clones
	touched  map[ruleList]struct{} // lists that are new, or gone
	maxLists int
	now      time.Time
	idle     []*list // that may give way; nil: not looked for yet
	tally    tally
}

// ruleList names a list.
type ruleList struct {
	rule string
	listID
}

func newDraft(old *catalog, maxLists int, now time.Time) *draft {
	d := &draft{changed: map[string]bool{}, touched: map[ruleList]struct{}{}, maxLists: maxLists, now: now}
	d.rules, d.lists = maps.Clone(old.rules), old.lists
	if d.rules == nil {
		d.rules = map[string]*ruleLists{}
	}
	return d
}

// touch a list of a rule, which is to change.
func (d *draft) touch(name string, id listID) *ruleLists {
	d.touched[ruleList{name, id}] = struct{}{}
	return d.rule(name)
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
		l.summary, l.keyed = old.summary, old.keyed
	}
	l.follow(old, d.now)
	r := d.touch(s.Rule.Name, id)
	r.lists[id] = l
	if r.keyed != nil && !countAlike(r.keyed, s.Rule) {
		r.keyed = nil
	}
	d.tally.taken++
}

// restore a list that was stored.
func (d *draft) restore(l *list) {
	l.follow(nil, d.now)
	r := d.rule(l.Rule.Name)
	r.lists[l.id()] = l
	if l.keyed != nil {
		r.keyed = l.keyed
	}
	if r.keyed != nil && !countAlike(r.keyed, l.Rule) {
		r.keyed = nil
	}
	d.lists++
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
		r := d.touch(name, oldest.id())
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
	r = d.touch(w.Rule.Name, id)
	l := *r.lists[id]
	l.summary, l.keyed = w.Summary, w.Rule
	r.lists[id], r.keyed = &l, w.Rule
	d.tally.taken++
}

// countAlike says whether a and b count the same, the seed aside.
func countAlike(a, b *rule.Definition) bool {
	x, y := *a, *b
	x.Shape.Seed, y.Shape.Seed = 0, 0
	return x.Fingerprint() == y.Fingerprint()
}

// stage what was touched.
func (d *draft) stage(s *storage) {
	for at := range d.touched {
		key := listKey(at.rule, at.listID)
		r := d.rules[at.rule]
		if r == nil || r.lists[at.listID] == nil {
			s.remove(key)
			continue
		}
		value, err := encodeList(r.lists[at.listID])
		if err != nil {
			s.unstaged = err
			continue
		}
		s.set(key, value)
	}
}

func (d *draft) finish() *catalog {
	for name := range d.changed {
		if r := d.rules[name]; r != nil {
			r.index()
		}
	}
	return &catalog{rules: d.rules, names: slices.Sorted(maps.Keys(d.rules)), lists: d.lists}
}
