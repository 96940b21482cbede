package board

import (
	"maps"
	"slices"
	"unique"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
)

// foldedAtOnce is how many minutes are merged at once: of each, all groups are decoded.
const foldedAtOnce = 5

// fold moves complete sets into parts, and an hour after retain, when a clock that was set back shows no time before it, all that
// are left. Then it lets go what is kept no longer.
func (b *Board) fold(c *counted, s span, now int64) {
	b.drop(c, s)
	var out []*folding
	for _, m := range slices.Sorted(maps.Keys(c.minutes)) {
		at := c.minutes[m]
		if m > s.newest {
			break
		}
		over := now >= at.expires+int64(setBack) || b.cfg.Event && m < s.first
		if taken := at.take(func(s *set) bool { return over || s.ripe() }); taken != nil {
			out = append(out, &folding{at: m, minute: taken, from: at, over: over})
		} else if over {
			b.forgetMinute(c, m)
		}
		if len(out) == foldedAtOnce {
			b.foldMinutes(c, s, out)
			out = out[:0]
		}
	}
	b.foldMinutes(c, s, out)
	b.forgetGroups(c, s)
}

// backlog says whether so much has come at once, after an outage or in a replay, that it is better folded now.
func (c *counted) backlog() bool {
	n := 0
	for _, m := range c.minutes {
		if m.ripe > 0 {
			n++
		}
	}
	return n > 2*foldedAtOnce
}

// foldMinutes merges at leisure, and changes what is stored at once.
func (b *Board) foldMinutes(c *counted, s span, out []*folding) {
	if len(out) == 0 {
		return
	}
	merged := b.foldParts(c, out)
	risen := b.rise(c, out)
	b.foldClosed(c, s, out)
	for _, m := range merged {
		b.put(c, m.at, m.of, m.value)
	}
	risen = b.keepRisen(out, risen)
	b.release(c, out)
	b.keepRule(c)
	b.handUp(risen)
	b.pause()
}

// forgetMinute lets go who was folded. Accept refuses what comes now.
func (b *Board) forgetMinute(c *counted, m window.Minute) {
	for id := range c.minutes[m].folded {
		if e := b.epochs[id]; b.cfg.Event && e != nil {
			if p := e.rules[c.rule.Name]; p != nil && p.forgotten <= m {
				p.forgotten, e.changed = m+1, true
				b.keepEpoch(e)
			}
		}
	}
	b.identities -= len(c.minutes[m].folded)
	delete(c.minutes, m)
	b.remove(setKey(c.id, m))
}

// folding is a minute that becomes part of parts.
type folding struct {
	at window.Minute
	*minute
	from *minute
	over bool // nothing more is taken of it
	rose bool // final states were made of it
}

// merged is what a part will hold of a group.
type merged struct {
	at    window.Part
	of    tag
	value []byte
}

// holds says whether g or, by overflow, records of g are in it.
func (f *folding) holds(c *counted, g rule.Group) bool {
	return f.cells[g] != nil || g == global && c.rule.Grouped() || g.Scope == rule.ScopeGroup && len(f.overflow) > 0
}

// kept says whether a part is there if anything of it was counted, retained whether it stays for a clock that is set back.
func (b *Board) kept(c *counted, p window.Part) bool {
	return p.Start >= c.floor && b.keep.Kept(p, c.until)
}

func (b *Board) retained(c *counted, p window.Part) bool {
	return p.Start >= c.floor && b.keep.Kept(p, c.until-setBackMinutes)
}

func (b *Board) foldParts(c *counted, out []*folding) (all []merged) {
	for _, size := range window.Sizes {
		for rest := out; len(rest) > 0; {
			p, n := window.PartOf(rest[0].at, size), 1
			for n < len(rest) && rest[n].at < p.End() {
				n++
			}
			if b.retained(c, p) {
				all = b.foldPart(c, p, rest[:n], all)
			}
			rest = rest[n:]
		}
	}
	return all
}

// foldPart adds minutes to one part. Groups that are new to it are bounded by the overflow that it had before.
func (b *Board) foldPart(c *counted, at window.Part, out []*folding, all []merged) []merged {
	groups := map[rule.Group]struct{}{global: {}}
	for g := range c.parts[at] {
		groups[g.Value()] = struct{}{}
	}
	for _, f := range out {
		for g := range f.cells {
			groups[g] = struct{}{}
		}
	}
	for _, g := range sorted(groups) {
		if !slices.ContainsFunc(out, func(f *folding) bool { return f.holds(c, g) }) {
			continue
		}
		sum := b.sums.take(c, g)
		b.addPart(sum, c, at, g)
		for _, f := range out {
			b.addLive(sum, c, f.minute, g)
		}
		if value := b.encode(g, sum); value != nil {
			all = append(all, merged{at, unique.Make(g), value})
		}
		b.pause()
	}
	return all
}

// foldClosed adds minutes to what is kept of windows, so that it is still what their parts would give.
func (b *Board) foldClosed(c *counted, s span, out []*folding) {
	for _, g := range sorted(c.groups) {
		at := c.groups[g]
		if at == nil {
			continue // its place was given to another in a pause
		}
		b.pause()
		for i := range at.closed {
			k := &at.closed[i]
			for _, f := range out {
				if !f.holds(c, g) {
					continue
				}
				if k.sum != nil && k.start == s.starts[i] && f.at >= k.start { // else it is merged again when it is read
					b.addLive(k.sum, c, f.minute, g)
				}
				if k.rest != nil && f.at >= k.edge {
					b.addLive(k.rest, c, f.minute, g)
				}
			}
		}
	}
}

// release gives the places of folded states back, and notes whose they were.
func (b *Board) release(c *counted, out []*folding) {
	for _, f := range out {
		for id, s := range f.sets {
			for _, st := range s.states {
				b.let(c, f.at, st)
				b.stats.Folded++
			}
			f.from.folded[id] = true
		}
		for g := range f.cells {
			c.touch(g, f.at)
		}
		if f.differs() {
			b.note(c.under, f.at, incidents{differ: 1})
		}
		if f.over {
			b.forgetMinute(c, f.at)
		} else {
			b.keepSets(c, f.at, f.from)
		}
	}
}

// drop lets go the parts that are kept no longer.
func (b *Board) drop(c *counted, s span) {
	for at := range c.parts {
		if !b.retained(c, at) {
			b.discard(c, at)
		}
	}
}

// forgetGroups gives the places of groups back that are in no window and would be in none if the clock was set back. From the
// latter a place can be taken.
func (b *Board) forgetGroups(c *counted, s span) {
	c.idle = c.idle[:0]
	for g, at := range c.groups {
		switch {
		case g == global || at.live > 0 || at.last >= s.first:
		case at.last < s.first-setBackMinutes:
			b.forgetGroup(c, g)
		case g.Scope == rule.ScopeGroup:
			c.idle = append(c.idle, g)
		}
	}
}
