package board

import (
	"fmt"
	"slices"
	"time"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

// ruled is all that is counted under one rule name: definitions that differ are counted apart, one is served.
type ruled struct {
	definitions map[string]*counted // by fingerprint
	served      *counted
	incidents   map[window.Minute]incidents
	lists       map[listKey]*listed
	coverages   []coverage // by window
	rounds      uint64     // of publishing
}

// counted is what one definition counts.
type counted struct {
	fingerprint string
	rule        *rule.Definition
	public      *rule.Definition // without the seed
	since       int64            // wall time from which on nothing is missed
	newest      int64            // event

	minutes    map[window.Minute]*minute
	parts      map[window.Part]part
	floor      window.Minute // parts before it were given up
	groups     map[rule.Group]*group
	named      int                          // groups that have a name
	room       int64                        // set aside for each of them
	ruleRoom   int64                        // and for the others
	overflowed map[wire.Epoch]window.Minute // the newest minute with an overflow
	clock      uint64                       // counts changes
	overflowAt uint64                       // change of an overflow
}

// group is one list of a definition.
type group struct {
	last    window.Minute // newest with records of it
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
	if r == nil || r.definitions[fingerprint] == nil {
		if err := b.admitRule(d); err != nil {
			return nil, err
		}
	}
	if r == nil {
		r = &ruled{
			definitions: map[string]*counted{},
			incidents:   map[window.Minute]incidents{},
			lists:       map[listKey]*listed{},
			coverages:   make([]coverage, len(b.windows)),
		}
		b.rules[d.Name] = r
	}
	c := r.definitions[fingerprint]
	if c == nil {
		c = &counted{
			fingerprint: fingerprint,
			since:       b.knownSince(d.Name, len(r.definitions) == 0, now),
			minutes:     map[window.Minute]*minute{},
			parts:       map[window.Part]part{},
			groups:      map[rule.Group]*group{global: b.newGroup()},
			room:        b.listRoom(d, residents(d, overflow)),
			ruleRoom:    b.ruleRoom(d),
			overflowed:  map[wire.Epoch]window.Minute{},
		}
		r.definitions[fingerprint] = c
		b.stats.Groups++
	}
	b.use(c, d)
	b.recent = recentRule{d, c}
	return c, nil
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

// use takes the definition with the longest list for which there is room: k and residents are no part of the fingerprint.
func (b *Board) use(c *counted, d *rule.Definition) {
	if c.rule != nil {
		room, ruleRoom := b.listRoom(d, residents(d, overflow)), b.ruleRoom(d)
		if d.K <= c.rule.K || !b.take(ruleRoom-c.ruleRoom+int64(c.named)*(room-c.room)) {
			return
		}
		c.room, c.ruleRoom = room, ruleRoom
	}
	c.rule = d
	public := *d
	public.Shape.Seed = 0
	c.public = &public
}

// knownSince is when the first shard spoke of the rule, if this is its first definition: from then on it would have said
// what it counted.
func (b *Board) knownSince(name string, first bool, now int64) int64 {
	if !first {
		return now
	}
	for _, e := range b.epochs {
		if p := e.rules[name]; p != nil {
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
		case c.named >= b.cfg.MaxGroups:
			b.stats.OverflowedGroups[c.rule.Name]++
			return b.place(c, overflow)
		case !b.take(c.room):
			b.stats.CrowdedGroups[c.rule.Name]++
			return b.place(c, overflow)
		}
		c.named++
	}
	c.groups[g] = b.newGroup()
	b.stats.Groups++
	return g
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

func (b *Board) span(c *counted, now int64) span {
	s := span{newest: window.MinuteOf(now), asOf: now}
	if b.cfg.Event {
		s.newest, s.asOf = window.MinuteOf(c.newest), c.newest
	}
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
