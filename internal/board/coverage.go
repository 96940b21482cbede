package board

import (
	"slices"

	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
)

const (
	noticeable = 1e-3 // share of records late or ahead that makes a list partial
)

// Reasons why a list is partial.
const (
	reasonSilent   = "silent_shards"   // a shard that is not gone was not heard of for 30 s
	reasonOverflow = "overflow"        // of this list, some may be in scope overflow: its total is a lower bound
	reasonDrops    = "drops"           // final states were given up within the window
	reasonShort    = "short_window"    // nothing is known of the window's beginning
	reasonLate     = "late"            // above 0.1 % of the records
	reasonFuture   = "future"          // above 0.1 % of the records
	reasonDiffer   = "replicas_differ" // gateways of one replica set counted different totals; the larger ones are listed
	reasonDamaged  = "damaged"         // something that was stored could not be read
)

// coverage is what all lists of one window and rule share.
type coverage struct {
	wire.Coverage
	reasons   []string
	conflicts []wire.Conflict
	version   uint64
}

// cover says how complete the window i is. The version moves when that changes.
func (b *Board) cover(r *ruled, i int, s span, sum incidents, at *presence) *coverage {
	c := r.served
	next := coverage{
		Coverage:  wire.Coverage{Reporting: at.reporting, Silent: at.silent, Gone: at.gone, SilentShards: at.named},
		conflicts: r.conflicts(at),
	}
	next.Late, next.Future, next.Dropped = sum.late, sum.future, sum.dropped
	for _, last := range at.of(c.fingerprint).overflowed {
		if last >= s.starts[i] {
			next.OverflowedShards++
		}
	}
	next.reasons = b.reasons(c, i, s, at.silent > 0, sum)

	now := &r.coverages[i]
	next.version = now.version
	if !now.same(&next) {
		next.version++
		*now = next
	}
	return now
}

// within adds up what happened in each window.
func (r *ruled) within(s span) []incidents {
	sums := make([]incidents, len(s.starts))
	for p, n := range r.incidents {
		if p.Size != window.OneMinute || p.Start > s.newest {
			continue
		}
		for i, start := range s.starts {
			if p.Start >= start {
				sums[i].add(n)
			}
		}
	}
	return sums
}

func (b *Board) reasons(c *counted, i int, s span, silent bool, sum incidents) []string {
	unknown := !b.cfg.Event && s.starts[i].Start() < c.since
	givenUp := s.starts[i] > b.keep.Start(b.windows[i], s.newest)
	return sum.reasons(silent, unknown || givenUp)
}

// reasons why what goes with these incidents is partial.
func (i *incidents) reasons(silent, short bool) []string {
	var reasons []string
	all := float64(i.records) + float64(i.late) + float64(i.future)
	for _, r := range []struct {
		holds bool
		text  string
	}{
		{silent, reasonSilent},
		{i.dropped > 0, reasonDrops},
		{short, reasonShort},
		{float64(i.late) > noticeable*all, reasonLate},
		{float64(i.future) > noticeable*all, reasonFuture},
		{i.differ > 0, reasonDiffer},
		{i.damaged > 0, reasonDamaged},
	} {
		if r.holds {
			reasons = append(reasons, r.text)
		}
	}
	return reasons
}

func (c *coverage) same(o *coverage) bool {
	return c.Reporting == o.Reporting && c.Silent == o.Silent && c.Gone == o.Gone && c.Late == o.Late && c.Future == o.Future &&
		c.Dropped == o.Dropped && c.OverflowedShards == o.OverflowedShards &&
		slices.Equal(c.SilentShards, o.SilentShards) && slices.Equal(c.reasons, o.reasons) && slices.Equal(c.conflicts, o.conflicts)
}

// elect serves the definition that most reporting shards count; among equals the one that was served, then the first.
func (b *Board) elect(r *ruled, at *presence) *counted {
	for _, f := range r.fingerprints() {
		c := r.definitions[f]
		if r.served == nil || c.awake() && (!r.served.awake() || at.of(f).reporting > at.of(r.served.fingerprint).reporting) {
			b.serve(r, c)
		}
	}
	return r.served
}

// serve lists c from now on; what was kept merged of another goes.
func (b *Board) serve(r *ruled, c *counted) {
	before := r.served
	r.served, r.turning = c, nil
	if before != nil {
		before.forgetClosed()
		b.keepRule(before)
	}
	b.keepRule(c)
}

// forgetClosed lets go what was kept merged.
func (c *counted) forgetClosed() {
	for _, g := range c.groups {
		clear(g.closed)
	}
}

// see where windows end now. If the clock was set back, what was kept merged holds too much.
func (b *Board) see(c *counted, s span) {
	if s.newest < c.until {
		c.forgetClosed()
	}
	before := c.until
	c.until, c.first = s.newest, s.first
	if c.until != before {
		b.keepRule(c)
	}
}

// conflicts are the definitions that are counted and not served.
func (r *ruled) conflicts(at *presence) []wire.Conflict {
	var all []wire.Conflict
	for _, f := range r.fingerprints() {
		if n := at.of(f).reporting; n > 0 && f != r.served.fingerprint {
			all = append(all, wire.Conflict{Fingerprint: f, LiveShards: n, Rule: r.definitions[f].public})
		}
	}
	return all
}

func (r *ruled) fingerprints() []string {
	all := make([]string, 0, len(r.definitions))
	for f := range r.definitions {
		all = append(all, f)
	}
	slices.Sort(all)
	return all
}
