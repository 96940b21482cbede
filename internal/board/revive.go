package board

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
)

// revive makes a board of the relics. What fits nothing is deleted.
func (r *relics) revive(now int64) {
	b := r.board
	r.reviveEpochs(now)
	known := r.reviveRules(now)
	r.reviveParts(known)
	r.reviveSets(known, now)
	live := r.settled(known)
	for _, c := range r.byAge(known) {
		if r.wake(c, live[c]) {
			r.reviveGroups(c, live[c])
			r.reviveStates(c, live[c], now)
			r.expectChanges(c)
		} else {
			r.discardStates(live[c])
		}
	}
	r.reviveIncidents()
	for _, m := range r.damaged {
		if c := known[m.of]; c != nil {
			b.damage(c.under, m.at)
		}
	}
	for _, c := range known {
		b.expectLists(c)
	}
	for _, key := range r.unfit {
		b.stats.Unfit++
		b.remove(key)
	}
}

// reviveEpochs finds when shards were last heard of. While the gateway was away, none could be: that makes none gone.
func (r *relics) reviveEpochs(now int64) {
	b := r.board
	last := int64(0)
	for _, e := range r.epochs {
		e.changed = false
		b.epochs[e.id] = e
		if !e.gone {
			b.stats.LiveEpochs++
		}
		last = max(last, e.last)
	}
	if time.Duration(now-last) >= deafAfter {
		b.began = now
	}
}

// reviveRules makes the definitions, asleep, by their names in keys. Those of states whose rule could not be read are among them.
func (r *relics) reviveRules(now int64) map[string]*counted {
	known := map[string]*counted{}
	add := func(of string, d *rule.Definition) *counted {
		under := r.board.rules[d.Name]
		if under == nil {
			under = r.board.newRuled(d.Name)
		}
		c := newCounted(under, d, d.Fingerprint())
		c.describe(d)
		known[of] = c
		return c
	}
	for of, s := range r.rules {
		c := add(of, s.definition)
		c.since, c.newest, c.floor, c.flat = s.since, s.newest, s.floor, s.flat
		c.until = s.until
		c.first = r.board.first(c, c.until)
		if s.served {
			c.under.served = c
		}
	}
	for _, s := range r.states {
		c := known[s.of]
		if c == nil {
			c = add(s.of, s.Rule)
			c.since = now
		}
		c.newest = max(c.newest, s.Newest, s.Minute.Start())
	}
	for _, of := range slices.Sorted(maps.Keys(known)) {
		if c := known[of]; c.under.served == nil {
			c.under.served = c
		}
	}
	return known
}

func (r *relics) reviveParts(known map[string]*counted) {
	b := r.board
	for of, parts := range r.parts {
		c := known[of]
		if c != nil {
			c.parts = parts // oldest is 0
		}
		for at, p := range parts {
			for g, s := range p {
				if c == nil {
					r.unfit = append(r.unfit, partKey(of, at, g.Value()))
					continue
				}
				b.stats.Parts++
				b.indexBytes += indexBytes(g)
				b.stats.PartBytes += int64(s.size)
			}
		}
	}
}

func (r *relics) reviveSets(known map[string]*counted, now int64) {
	for key, s := range r.sets {
		c := known[key.of]
		if c == nil {
			r.unfit = append(r.unfit, setKey(key.of, key.at))
			continue
		}
		m := r.minute(c, key.at, now)
		if s == nil {
			m.unknown, m.folds = true, uint64(now) // above all that may have been
			r.damaged = append(r.damaged, key)
			continue
		}
		m.drawn, m.folds = s.drawn, s.folds
		for _, id := range s.epochs {
			m.folded[id] = true
		}
		r.board.identities += len(m.folded)
		if r.board.cfg.Event {
			m.expires = s.expires
		}
	}
}

func (r *relics) minute(c *counted, at window.Minute, now int64) *minute {
	m := c.minutes[at]
	if m == nil {
		m = newMinute()
		m.expires = r.board.expiry(at, now)
		c.minutes[at] = m
	}
	return m
}

// settled are the live states by definition. One of a set that was folded is not live.
func (r *relics) settled(known map[string]*counted) map[*counted][]relicState {
	live := map[*counted][]relicState{}
	for _, s := range r.states {
		c := known[s.of]
		if m := c.minutes[s.Minute]; m != nil {
			if _, folded := m.folded[s.Epoch]; folded {
				r.unfit = append(r.unfit, stateKey(s.of, s.Minute, s.Epoch, s.Group))
				continue
			}
		}
		live[c] = append(live[c], s)
	}
	return live
}

// byAge are the definitions, those with the newest records first: where there is room for fewer than before, it is theirs.
func (r *relics) byAge(known map[string]*counted) []*counted {
	return slices.SortedFunc(maps.Values(known), func(a, b *counted) int {
		return cmp.Or(cmp.Compare(b.newest, a.newest), cmp.Compare(a.id, b.id))
	})
}

// wake a definition that was awake, or would be for what is live.
func (r *relics) wake(c *counted, live []relicState) bool {
	b := r.board
	of := r.rules[c.id]
	needed := of == nil || of.awake || len(live) > 0 || len(c.minutes) > 0
	if !needed || b.admitRule(c.rule) != nil {
		return false
	}
	b.wake(c, c.rule, c.since)
	return true
}

// reviveGroups gives places to the groups that the board had, those with the newest records first.
func (r *relics) reviveGroups(c *counted, live []relicState) {
	b := r.board
	newest := map[rule.Group]window.Minute{}
	see := func(g rule.Group, m window.Minute) {
		at, ok := newest[g]
		if !ok || m > at {
			newest[g] = m
		}
	}
	for at, p := range c.parts {
		if at.Start < c.first-setBackMinutes {
			continue
		}
		for g := range p {
			see(g.Value(), at.Start)
		}
	}
	for _, s := range live {
		if !s.overflows {
			see(s.Group, s.Minute)
		}
	}
	groups := sorted(newest)
	slices.SortStableFunc(groups, func(g, h rule.Group) int { return cmp.Compare(newest[h], newest[g]) })
	for _, g := range groups {
		if b.place(c, g) == g {
			c.touch(g, newest[g])
		}
	}
}

func (r *relics) reviveStates(c *counted, live []relicState, now int64) {
	b := r.board
	strangers := map[wire.Epoch]*epoch{} // forgotten, or not to be read
	for _, s := range live {
		e := b.epochs[s.From()]
		if e == nil {
			e = strangers[s.From()]
		}
		if e == nil {
			e = &epoch{id: s.From(), shard: s.Shard, gone: true, rules: map[string]*reported{}}
			strangers[s.From()] = e
		}
		m := r.minute(c, s.Minute, now)
		at := m.sets[s.Epoch]
		if at == nil {
			at = newSet(m, s.State, e)
			m.sets[s.Epoch] = at
			b.identities++
		}
		place := overflow
		if !s.overflows {
			place = s.Group
		}
		st := &state{
			set: at, of: s.Group, group: b.place(c, place), sequence: s.Sequence, newest: s.Newest, weight: s.Weight, encoded: s.Encoded,
		}
		m.add(st)
		c.groups[st.group].live++
		b.stats.LiveStates++
		b.resize(e, st.bytes())
		b.weigh(m, at, at.weight+st.weight)
		if s.Final {
			b.final(m, at, st, s.State)
		}
		m.choose(at, s.Group)
		c.touch(st.group, s.Minute)
		c.mark(st.group, s.Minute)
	}
	for at, m := range c.minutes {
		for _, s := range m.sets {
			if s.complete() {
				b.supersede(c, m, at, s)
			}
		}
	}
}

// expectChanges marks the hours that may have changed before their rollups went.
func (r *relics) expectChanges(c *counted) {
	late := window.Minute((r.board.cfg.Retain + 2*setBack) / window.Bucket)
	for at := range c.parts {
		if at.Size == window.OneHour && at.Start >= c.until-late {
			c.hour(at.Start).all = true
		}
	}
}

func (r *relics) discardStates(live []relicState) {
	for _, s := range live {
		r.unfit = append(r.unfit, stateKey(s.of, s.Minute, s.Epoch, s.Group))
	}
}

func (r *relics) reviveIncidents() {
	for key, n := range r.incidents {
		if of := r.board.rules[key.rule]; of != nil {
			of.incidents[key.at] = n
		} else {
			r.unfit = append(r.unfit, incidentKey(key.at, key.rule))
		}
	}
}

// expectLists notes which lists readers have: each comes again, or ends.
func (b *Board) expectLists(c *counted) {
	if c.under.served != c {
		return
	}
	s := b.spanUntil(c, c.until)
	for g, at := range c.groups {
		for i, w := range b.windows {
			if g == global || at.last >= s.starts[i] {
				c.under.lists[listKey{w, g}] = &listed{}
			}
		}
	}
}
