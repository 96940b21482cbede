package board

import (
	"maps"
	"slices"
	"time"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
)

// rollupBytes of changed hours go with one publication; what is more goes with the next.
const rollupBytes = 64 << 20

// changes of an hour since its rollups were last published.
type changes struct {
	all     bool
	groups  map[rule.Group]struct{}
	known   bool     // readers have rollups
	reasons []string // of these
}

// mark that g changed in the hour of m.
func (c *counted) mark(g rule.Group, m window.Minute) {
	at := c.hour(window.PartOf(m, window.OneHour).Start)
	at.groups[g] = struct{}{}
	at.all = at.all || g == overflow // it bounds each group that the hour lacks
}

func (c *counted) hour(h window.Minute) *changes {
	at := c.changes[h]
	if at == nil {
		at = &changes{groups: map[rule.Group]struct{}{}}
		c.changes[h] = at
	}
	return at
}

// forgetChanges lets go hours of which no more states are taken, and those that are kept no longer: in a replay they may never
// have been published.
func (b *Board) forgetChanges(c *counted, now int64) {
	first := window.MinuteOf(now-int64(b.cfg.Retain+setBack)) - window.Minute(window.OneHour)
	if b.cfg.Event {
		first = c.first - window.Minute(window.OneHour)
	}
	for h, at := range c.changes {
		kept := b.retained(c, window.Part{Start: h, Size: window.OneHour})
		if h < first && (len(at.groups) == 0 && !at.all || c.under.served != c || !kept) {
			delete(c.changes, h)
		}
	}
}

// rollups appends those of closed hours that changed, the newest first.
func (p *publication) rollups(out []*wire.Rollup) []*wire.Rollup {
	b, c := p.board, p.counted
	for _, h := range slices.Backward(slices.Sorted(maps.Keys(c.changes))) {
		part := window.Part{Start: h, Size: window.OneHour}
		if part.End() > p.newest || !b.retained(c, part) {
			continue
		}
		roll := p.hour(part)
		pending := c.changes[h].pending(roll)
		if len(pending) > 0 {
			p.rolled = append(p.rolled, h)
		}
		for _, g := range sorted(pending) {
			if b.rolled >= rollupBytes {
				return out
			}
			out = roll.append(out, g)
			delete(pending, g)
			b.pause()
		}
	}
	return out
}

// pending are the groups whose rollups are to be published: also those that have nothing any more.
func (a *changes) pending(roll *hourly) map[rule.Group]struct{} {
	if a.all || a.known && !slices.Equal(a.reasons, roll.reasons) {
		for _, g := range roll.groups() {
			a.groups[g] = struct{}{}
		}
	}
	if len(a.groups) > 0 {
		a.groups[global] = struct{}{}
		a.known = true
	}
	a.all, a.reasons = false, roll.reasons
	return a.groups
}

// turn appends the rollups of one more hour, which did not change: the newest first, of each rule in turn. So readers that lost
// what they had get it again. It says whether that was all of the hour.
func (p *publication) turn(out []*wire.Rollup) ([]*wire.Rollup, bool) {
	r := p.rule
	if len(r.turning) == 0 {
		if r.turn = p.before(r.turn); slices.Contains(p.rolled, r.turn) {
			return out, true
		}
	}
	part := window.Part{Start: r.turn, Size: window.OneHour}
	if p.counted.parts[part] == nil {
		r.turning = nil
		return out, true
	}
	roll := p.hour(part)
	if len(r.turning) == 0 {
		r.turning = roll.groups()
	}
	for len(r.turning) > 0 && p.board.rolled < rollupBytes {
		out = roll.append(out, r.turning[0])
		r.turning = r.turning[1:]
		p.board.pause()
	}
	return out, len(r.turning) == 0
}

// before is the newest closed hour before h, or the newest of all if there is none.
func (p *publication) before(h window.Minute) window.Minute {
	newest, next := window.Minute(-1), window.Minute(-1)
	for at := range p.counted.parts {
		if at.Size == window.OneHour && at.End() <= p.newest {
			newest = max(newest, at.Start)
			if at.Start < h {
				next = max(next, at.Start)
			}
		}
	}
	if next < 0 {
		return newest
	}
	return next
}

// hourly makes the rollups of one hour.
type hourly struct {
	*publication
	part    window.Part
	reasons []string
}

func (p *publication) hour(part window.Part) *hourly {
	return &hourly{p, part, p.hourReasons(part)}
}

func (h *hourly) live() []window.Minute { return h.counted.liveMinutes(h.part.Start, h.part.End()-1) }

// groups of the hour in their order: scope overflow, in which readers look for what they lack, comes last.
func (h *hourly) groups() []rule.Group {
	c := h.counted
	all := map[rule.Group]struct{}{}
	for g := range c.parts[h.part] {
		all[g.Value()] = struct{}{}
	}
	for _, m := range h.live() {
		all[global] = struct{}{}
		for g := range c.minutes[m].cells {
			all[g] = struct{}{}
		}
	}
	return sorted(all)
}

// append the rollup of g. Where the hour's part was lost, readers keep what they have.
func (h *hourly) append(out []*wire.Rollup, g rule.Group) []*wire.Rollup {
	b, c := h.board, h.counted
	sum, losses := b.sums.take(c, g), b.losses
	b.addPart(sum, c, h.part, g)
	for _, m := range h.live() {
		b.addLive(sum, c, c.minutes[m], g)
	}
	if b.losses != losses {
		return out
	}
	sum.Prune(c.rule.Residents)
	sum.Flatten()
	reasons := h.reasons
	if sum.TotalUpper() > sum.Total() {
		reasons = append(slices.Clone(reasons), reasonOverflow)
	}
	encoded, err := sum.AppendBinary(nil)
	if err != nil {
		panic("board: a summary always encodes: " + err.Error())
	}
	b.rolled += len(encoded)
	return append(out, &wire.Rollup{
		Rule: c.rule, Hour: h.part.Start, Group: g, AsOf: time.Unix(0, b.rolledAt).UTC(), PartialReasons: reasons, Encoded: encoded,
	})
}

// hourReasons say why the rollups of an hour may lack something.
func (p *publication) hourReasons(h window.Part) []string {
	n := p.rule.incidents[h]
	silent := n.silent || len(p.at.named) > 0 && p.at.named[0].Since.UnixNano() < h.End().Start()
	short := !p.board.cfg.Event && h.Start.Start() < p.counted.since
	return n.reasons(silent, short)
}
