package board

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

// Published is one list and, where point queries are on, its summary.
type Published struct {
	Snapshot *wire.Snapshot
	Summary  *wire.WindowSummary // nil: off
}

// Publication is what is to be sent at one time.
type Publication struct {
	Changed []Published
	Ended   []*wire.Snapshot
	Rollups []*wire.Rollup // of closed hours that changed, and in turn of those that did not; Encoded, without Summary
	Anew    []string       // rules of which another definition began to be counted
}

// listKey names a list of one rule.
type listKey struct {
	window time.Duration
	group  rule.Group
}

// listed is a list as it was last published.
type listed struct {
	made   made
	at     int64  // when it was published
	rounds uint64 // of the rule, when it was last there
}

func (l *listed) when() int64 {
	if l == nil {
		return 0
	}
	return l.at
}

// made is what a list was made from; as long as it stays, so does the list.
type made struct {
	counted       *counted
	counts        uint64
	coverage      uint64
	start, newest window.Minute
}

// Publish folds what has closed (once a minute, or when much has come at once) and returns the lists that changed since they
// were last published, and each unchanged one again after a minute. ended are lists that will not come again unless there is
// something new in them: those of a group that is in the window no more, and of a rule that no shard counts and no window
// holds any more.
func (b *Board) Publish(now int64) Publication {
	var out Publication
	present := b.presences(now)
	minute := window.MinuteOf(now) != b.folded
	b.folded = window.MinuteOf(now)
	b.rolled, b.rolledAt = 0, max(b.rolledAt, now)
	names := slices.Sorted(maps.Keys(b.rules))
	turn := b.next(names)
	for _, name := range names {
		r, at := b.rules[name], present[name]
		for _, f := range r.fingerprints() {
			c := r.definitions[f]
			s := b.span(c, now)
			b.see(c, s)
			if minute || b.cfg.Event || c.backlog() {
				b.fold(c, s, now)
			}
			if minute {
				b.flatten(c)
			}
		}
		p := publication{board: b, rule: r, counted: b.elect(r, at), now: now, at: at}
		p.span = b.span(p.counted, now)
		if minute {
			for _, f := range r.fingerprints() {
				b.forgetChanges(r.definitions[f], now)
			}
			b.forgetIncidents(r, p.span)
		}
		if p.counted.awake() && p.counted.newest > 0 {
			p.publish()
		}
		if minute || b.late {
			out.Rollups = p.rollups(out.Rollups)
		}
		if name == turn {
			var whole bool
			if out.Rollups, whole = p.turn(out.Rollups); whole {
				b.turn = name
			}
		}
		p.forget()
		out.Changed, out.Ended = append(out.Changed, p.changed...), append(out.Ended, p.ended...)
	}
	b.late = b.rolled >= rollupBytes
	if minute {
		b.forgetAsleep()
	}
	b.shrink()
	b.forgetMemos()
	out.Anew, b.anew = b.anew, nil
	b.present = present
	return out
}

// next of the names after the one that had its turn.
func (b *Board) next(names []string) string {
	if len(names) == 0 {
		return ""
	}
	i, found := slices.BinarySearch(names, b.turn)
	if found {
		i++
	}
	return names[i%len(names)]
}

// publication is what one rule publishes at one time.
type publication struct {
	board   *Board
	rule    *ruled
	counted *counted
	now     int64
	span
	at      *presence
	minutes []window.Minute // that hold something live
	open    openSum
	changed []Published
	ended   []*wire.Snapshot
	rolled  []window.Minute // hours whose rollups changed
}

// openSum is the sum of all that is live of one group: most windows hold all of it.
type openSum struct {
	group rule.Group
	sum   *topk.Summary // nil: not summed up yet
}

func (p *publication) publish() {
	r, c := p.rule, p.counted
	p.board.note(r, p.newest, p.at.unplaced)
	r.rounds++
	p.minutes = c.liveMinutes(p.first, p.newest)
	covers := make([]*coverage, len(p.board.windows))
	for i, n := range p.within() {
		covers[i] = p.board.cover(r, i, p.span, n, p.at)
	}
	for _, g := range sorted(c.groups) {
		if c.groups[g] == nil {
			continue // its place was given to another in a pause
		}
		for i, w := range p.board.windows {
			p.list(i, listKey{w, g}, covers[i])
		}
		if p.board.pause() {
			p.minutes, p.open = c.liveMinutes(p.first, p.newest), openSum{}
		}
	}
	p.end()
}

// within is what happened in each window.
func (p *publication) within() []incidents {
	return p.counted.addDiffering(p.span, p.rule.within(p.span))
}

func (b *Board) pause() bool { return b.cfg.Pause != nil && b.cfg.Pause() }

// list publishes one list, unless it is as it was published less than a minute ago. Only the global one may be empty.
func (p *publication) list(i int, key listKey, cover *coverage) {
	c := p.counted
	at := c.groups[key.group]
	if at.last < p.starts[i] && key.group != global {
		at.closed[i] = closed{}
		return
	}
	next := made{c, c.version(key.group), cover.version, p.starts[i], p.newest}
	old := p.rule.lists[key]
	if age := p.now - old.when(); old != nil && old.made == next && age >= 0 && age < int64(time.Minute) {
		old.rounds = p.rule.rounds
		return
	}
	losses := p.board.losses
	sum := p.sum(i, key.group)
	if p.board.losses != losses {
		cover = p.board.cover(p.rule, i, p.span, p.within()[i], p.at)
		next.coverage = cover.version
	}
	if sum.Records() == 0 && key.group != global {
		return
	}
	sum.Tighten()
	published := Published{Snapshot: p.snapshot(i, key, cover, sum)}
	if q := p.board.cfg.PointQueries; q == PointQueriesAll || q == PointQueriesGlobal && key.group == global {
		published.Summary = &wire.WindowSummary{
			Rule: c.rule, Window: key.window, Group: key.group, AsOf: published.Snapshot.AsOf, Summary: p.board.pruned(c, sum),
		}
	}
	p.changed = append(p.changed, published)
	p.rule.lists[key] = &listed{next, p.now, p.rule.rounds}
}

// pruned is a copy of sum that agrees with its lists and takes no more room than it needs.
func (b *Board) pruned(c *counted, sum *topk.Summary) *topk.Summary {
	sum.Prune(summaryResidents)
	s := empty(sum.Shape(), summaryResidents)
	b.merge(c, s, sum)
	return s
}

func (p *publication) snapshot(i int, key listKey, cover *coverage, sum *topk.Summary) *wire.Snapshot {
	distinct, _ := sum.Distinct()
	reasons := slices.Clone(cover.reasons)
	if sum.TotalUpper() > sum.Total() {
		reasons = append(reasons, reasonOverflow)
	}
	return &wire.Snapshot{
		Rule:           p.counted.public,
		Window:         key.window,
		Group:          key.group,
		WindowStart:    time.Unix(0, p.starts[i].Start()).UTC(),
		AsOf:           time.Unix(0, p.asOf).UTC(),
		Approximate:    true,
		PartialReasons: reasons,
		Total:          sum.Total(),
		TotalUpper:     sum.TotalUpper(),
		Records:        sum.Records(),
		Distinct:       distinct,
		List:           sum.Top(p.counted.rule.K),
		Coverage:       cover.Coverage,
		Conflicts:      cover.conflicts,
	}
}

// sum of one list: what was folded and what is live.
func (p *publication) sum(i int, g rule.Group) *topk.Summary {
	b, c := p.board, p.counted
	sum := b.sums.take(c, g)
	b.merge(c, sum, p.closed(i, g))
	if len(p.minutes) > 0 && p.minutes[0] >= p.starts[i] {
		b.merge(c, sum, p.live(g))
		return sum
	}
	for _, m := range p.minutes {
		if m >= p.starts[i] {
			b.addLive(sum, c, c.minutes[m], g)
		}
	}
	return sum
}

func (p *publication) live(g rule.Group) *topk.Summary {
	b, c := p.board, p.counted
	if p.open.sum == nil || p.open.group != g {
		p.open = openSum{g, b.opens.take(c, g)}
		for _, m := range p.minutes {
			b.addLive(p.open.sum, c, c.minutes[m], g)
		}
	}
	return p.open.sum
}

// closed is what was folded of a window.
func (p *publication) closed(i int, g rule.Group) *topk.Summary {
	c, start := p.counted, p.starts[i]
	k := &c.groups[g].closed[i]
	if k.sum != nil && k.start == start {
		return k.sum
	}
	k.start, k.sum = start, c.renew(k.sum, g)
	edge := p.board.edge(p.board.windows[i], start)
	if edge == start {
		p.addParts(k.sum, g, start, p.newest)
		return k.sum
	}
	if k.rest == nil || k.edge != edge {
		k.edge, k.rest = edge, c.renew(k.rest, g)
		p.addParts(k.rest, g, edge, p.newest)
	}
	p.board.merge(c, k.sum, k.rest)
	p.addParts(k.sum, g, start, edge-1)
	return k.sum
}

func (p *publication) addParts(sum *topk.Summary, g rule.Group, first, last window.Minute) {
	for _, at := range window.Cover(first, last) {
		p.board.addPart(sum, p.counted, at, g)
	}
}

// edge is where the part of a window begins that is kept when its start moves: at the next larger part, if that leaves most.
func (b *Board) edge(w time.Duration, start window.Minute) window.Minute {
	size := b.restOf(w)
	if size == 0 {
		return start
	}
	return window.PartOf(start+window.Minute(size)-1, size).Start
}

// end ends the lists that are no more.
func (p *publication) end() {
	for key, l := range p.rule.lists {
		if l.rounds != p.rule.rounds {
			p.ended = append(p.ended, p.last(key))
			delete(p.rule.lists, key)
		}
	}
	slices.SortFunc(p.ended, func(a, b *wire.Snapshot) int {
		return cmp.Or(cmp.Compare(a.Window, b.Window), compareGroups(a.Group, b.Group))
	})
}

// last is the empty list that ends one.
func (p *publication) last(key listKey) *wire.Snapshot {
	i := slices.Index(p.board.windows, key.window)
	return p.snapshot(i, key, &p.rule.coverages[i], p.board.sums.take(p.counted, key.group))
}

// forget lets definitions sleep that no shard counts and no window holds or would hold if the clock was set back, and lets go
// those of which nothing is kept.
func (p *publication) forget() {
	b, r := p.board, p.rule
	awake := 0
	for f, c := range r.definitions {
		if c.awake() && p.at.of(f).live == 0 && len(c.minutes) == 0 && c.groups[global].last < c.first-setBackMinutes {
			b.sleep(c)
		}
		if c.awake() {
			awake++
		} else if len(c.parts) == 0 {
			b.forgetDefinition(c)
		}
	}
	if awake == 0 && len(r.lists) > 0 {
		r.rounds++
		p.changed = nil
		p.end()
	}
	if len(r.definitions) == 0 {
		b.forgetRule(r)
	}
}

func (b *Board) forgetDefinition(c *counted) {
	for m := range c.minutes {
		b.forgetMinute(c, m)
	}
	delete(c.under.definitions, c.fingerprint)
	b.remove(ruleKey(c.id))
	b.remove(spareKey(c.id))
	if c.under.served == c {
		c.under.served = nil
	}
}

func (b *Board) forgetRule(r *ruled) {
	for at := range r.incidents {
		b.remove(incidentKey(at, r.name))
	}
	delete(b.rules, r.name)
	delete(b.stats.OverflowedGroups, r.name)
	delete(b.stats.CrowdedGroups, r.name)
}
