package board

import (
	"fmt"
	"slices"
	"time"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/topk"
)

// ruled is all that is counted under one rule name: definitions that differ are counted apart, one is served.
type ruled struct {
	name        string
	definitions map[string]*counted // by fingerprint
	served      *counted
	incidents   map[window.Part]incidents // of minutes and hours
	lists       map[listKey]*listed
	coverages   []coverage    // by window
	rounds      uint64        // of publishing
	turn        window.Minute // hour whose rollups were last published in turn
	turning     []rule.Group  // of it that are still to come
}

// counted is what one definition counts.
type counted struct {
	id          string // in keys
	under       *ruled
	fingerprint string
	rule        *rule.Definition
	public      *rule.Definition // without the seed
	since       int64            // wall time from which on nothing is missed
	newest      int64            // event

	minutes    map[window.Minute]*minute
	parts      map[window.Part]part
	changes    map[window.Minute]*changes // by hour
	flattening window.Part
	toFlatten  []tag
	oldest     window.Minute         // no part is older
	floor      window.Minute         // parts before it were given up
	flat       window.Minute         // hour parts before it are flat
	until      window.Minute         // the newest of windows when they were last made
	first      window.Minute         // and the first
	groups     map[rule.Group]*group // nil: asleep
	idle       []rule.Group          // those with a name that are in no window
	named      int                   // groups that have a name
	room       int64                 // set aside for each of them
	ruleRoom   int64                 // and for the others
	clock      uint64                // counts changes
	overflowAt uint64                // change of an overflow
}

// group is one list of a definition.
type group struct {
	last    window.Minute // newest with records of it
	live    int           // states
	changed uint64
	closed  []closed // by window
}

// closed is the part of a window that was folded. It is merged once and kept: a start that moves adds the parts before edge
// to rest, and only when it passes edge, rest is merged again.
type closed struct {
	start window.Minute
	sum   *topk.Summary // from start on; nil: to be merged
	edge  window.Minute
	rest  *topk.Summary // from edge on; nil: to be merged, or not worth it
}

// recentRule saves the fingerprint of states that came together: they share their definition.
type recentRule struct {
	rule    *rule.Definition
	counted *counted
}

// counted finds or admits the definition of a state.
func (b *Board) counted(d *rule.Definition, now int64) (*counted, error) {
	if b.recent.rule == d {
		return b.recent.counted, nil
	}
	fingerprint := d.Fingerprint()
	r := b.rules[d.Name]
	var c *counted
	if r != nil {
		c = r.definitions[fingerprint]
	}
	if c == nil || !c.awake() {
		if err := b.admitRule(d); err != nil {
			return nil, err
		}
		if r == nil {
			r = b.newRuled(d.Name)
		}
		since := b.knownSince(r, now)
		if c == nil {
			if len(r.definitions) > 0 {
				b.anew = append(b.anew, d.Name)
			}
			c = newCounted(r, d, fingerprint)
		}
		b.wake(c, d, since)
	}
	b.use(c, d)
	b.recent = recentRule{d, c}
	return c, nil
}

func (b *Board) newRuled(name string) *ruled {
	r := &ruled{
		name:        name,
		definitions: map[string]*counted{},
		incidents:   map[window.Part]incidents{},
		lists:       map[listKey]*listed{},
		coverages:   make([]coverage, len(b.windows)),
	}
	b.rules[name] = r
	return r
}

func newCounted(r *ruled, d *rule.Definition, fingerprint string) *counted {
	c := &counted{
		id:          definitionID(d.Name, fingerprint),
		under:       r,
		fingerprint: fingerprint,
		minutes:     map[window.Minute]*minute{},
		parts:       map[window.Part]part{},
		changes:     map[window.Minute]*changes{},
	}
	r.definitions[fingerprint] = c
	return c
}

// admitRule sets room aside for one more definition.
func (b *Board) admitRule(d *rule.Definition) error {
	if n := b.definitions(); n >= b.cfg.MaxRules {
		b.stats.RefusedRules++
		return fmt.Errorf("%w: rule %q comes after the %d that may be", ErrRules, d.Name, b.cfg.MaxRules)
	}
	if n := b.ruleRoom(d); !b.take(n) {
		b.stats.CrowdedRules++
		return fmt.Errorf("%w: rule %q of %dx%d cells needs %d bytes for its lists, %d of %d are taken",
			ErrRules, d.Name, d.Shape.Width, d.Shape.Depth, n, b.stats.ListBytes, b.cfg.MaxListBytes)
	}
	return nil
}

// awake says whether c has lists. Asleep, a definition that no shard counts and no window holds, its hours are kept.
func (c *counted) awake() bool { return c.groups != nil }

// wake gives c the room that was set aside for d.
func (b *Board) wake(c *counted, d *rule.Definition, since int64) {
	c.since = since
	c.groups = map[rule.Group]*group{global: b.newGroup()}
	c.room, c.ruleRoom = b.groupRoom(d), b.ruleRoom(d)
	b.stats.Groups++
	b.define(c, d)
}

func (b *Board) sleep(c *counted) {
	b.stats.Groups -= len(c.groups)
	b.stats.ListBytes -= c.ruleRoom + int64(c.named)*c.room
	c.groups, c.named, c.room, c.ruleRoom = nil, 0, 0, 0
	b.keepRule(c)
	b.recent = recentRule{}
}

// use takes the definition with the longest list for which there is room: k and residents are no part of the fingerprint.
func (b *Board) use(c *counted, d *rule.Definition) {
	room, ruleRoom := b.groupRoom(d), b.ruleRoom(d)
	if d.K > c.rule.K && b.take(ruleRoom-c.ruleRoom+int64(c.named)*(room-c.room)) {
		c.room, c.ruleRoom = room, ruleRoom
		b.define(c, d)
	}
}

func (b *Board) define(c *counted, d *rule.Definition) {
	c.describe(d)
	b.keepRule(c)
}

func (c *counted) describe(d *rule.Definition) {
	c.rule = d
	public := *d
	public.Shape.Seed = 0
	c.public = &public
}

// knownSince is when the first shard spoke of a rule, if no other definition of it is counted: from then on it would have said
// what it counted.
func (b *Board) knownSince(r *ruled, now int64) int64 {
	for _, c := range r.definitions {
		if c.awake() {
			return now
		}
	}
	for _, e := range b.epochs {
		if p := e.rules[r.name]; p != nil {
			now = min(now, p.since)
		}
	}
	return now
}

func (b *Board) newGroup() *group {
	return &group{closed: make([]closed, len(b.windows))}
}

// place finds where the states of g count: its own group, or overflow where there is no place for one more.
func (b *Board) place(c *counted, g rule.Group) rule.Group {
	if c.groups[g] != nil {
		return g
	}
	if g.Scope == rule.ScopeGroup {
		switch {
		case c.named >= b.cfg.MaxGroups && !b.giveBack(c):
			b.stats.OverflowedGroups[c.rule.Name]++
			return b.place(c, overflow)
		case !b.take(c.room) && (!b.giveBack(c) || !b.take(c.room)):
			b.stats.CrowdedGroups[c.rule.Name]++
			return b.place(c, overflow)
		}
		c.named++
	}
	c.groups[g] = b.newGroup()
	b.stats.Groups++
	return g
}

// giveBack takes a place from a group that is in no window, but would be if the clock was set back.
func (b *Board) giveBack(c *counted) bool {
	for len(c.idle) > 0 {
		g := c.idle[len(c.idle)-1]
		c.idle = c.idle[:len(c.idle)-1]
		if at := c.groups[g]; at != nil && at.live == 0 && at.last < c.first {
			b.forgetGroup(c, g)
			return true
		}
	}
	return false
}

func (b *Board) forgetGroup(c *counted, g rule.Group) {
	delete(c.groups, g)
	b.stats.Groups--
	if g.Scope == rule.ScopeGroup {
		c.named--
		b.stats.ListBytes -= c.room
	}
}

// touch notes a change of what g counts in minute m.
func (c *counted) touch(g rule.Group, m window.Minute) {
	c.clock++
	for _, g := range [...]rule.Group{g, global} {
		at := c.groups[g]
		at.changed = c.clock
		at.last = max(at.last, m)
	}
	if g == overflow {
		c.overflowAt = c.clock
	}
}

// version of a list: it changes with all that it is made of.
func (c *counted) version(g rule.Group) uint64 {
	if g.Scope == rule.ScopeGroup {
		return max(c.groups[g].changed, c.overflowAt)
	}
	return c.groups[g].changed
}

// span is what windows cover.
type span struct {
	newest window.Minute
	asOf   int64
	starts []window.Minute // by window
	first  window.Minute   // the earliest start
}

// newest minute of the windows of c.
func (b *Board) newest(c *counted, now int64) window.Minute {
	if b.cfg.Event {
		return window.MinuteOf(c.newest)
	}
	return window.MinuteOf(now)
}

func (b *Board) span(c *counted, now int64) span {
	s := b.spanUntil(c, b.newest(c, now))
	s.asOf = now
	if b.cfg.Event {
		s.asOf = c.newest
	}
	return s
}

// spanUntil is the span of windows that end with newest.
func (b *Board) spanUntil(c *counted, newest window.Minute) span {
	s := span{newest: newest}
	s.first = b.first(c, s.newest)
	for _, w := range b.windows {
		s.starts = append(s.starts, b.start(c, w, s.newest))
	}
	return s
}

// start of a window. It is short of what was given up.
func (b *Board) start(c *counted, w time.Duration, newest window.Minute) window.Minute {
	if known := time.Duration(newest-c.floor+1) * window.Bucket; c.floor > 0 && known < w {
		w = max(known, 0)
	}
	return b.keep.Start(w, newest)
}

// first minute of all windows.
func (b *Board) first(c *counted, newest window.Minute) window.Minute {
	first := newest
	for _, w := range b.windows {
		first = min(first, b.start(c, w, newest))
	}
	return first
}

// liveMinutes of a span, in order.
func (c *counted) liveMinutes(first, last window.Minute) []window.Minute {
	var all []window.Minute
	for m, at := range c.minutes {
		if len(at.cells) > 0 && m >= first && m <= last {
			all = append(all, m)
		}
	}
	slices.Sort(all)
	return all
}
