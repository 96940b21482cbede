package board

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
)

// oracle counts exactly what was delivered, and holds what is published against it.
type oracle struct {
	states map[answered]message
	lists  map[listKey]Published // as a reader of all publications has them
	crowd  bool                  // the gateway had no place for some groups
}

type answered struct {
	epoch  wire.Epoch
	minute window.Minute
	group  rule.Group
}

func newOracle() *oracle {
	return &oracle{states: map[answered]message{}, lists: map[listKey]Published{}}
}

// delivered notes a state that was answered: the highest sequence counts, final beats any.
func (o *oracle) delivered(m message) {
	key := answered{m.Epoch, m.Minute, m.Group}
	old, ok := o.states[key]
	if !ok || m.Final && !old.Final || m.Final == old.Final && m.Sequence > old.Sequence {
		o.states[key] = m
	}
}

// published is what readers get.
func (o *oracle) published(p Publication) {
	changed, ended := p.Changed, p.Ended
	for _, s := range ended {
		delete(o.lists, listKey{s.Window, s.Group})
	}
	for _, p := range changed {
		o.lists[listKey{p.Snapshot.Window, p.Snapshot.Group}] = p
	}
}

// exact counts of the span by group; global holds all.
func (o *oracle) exact(start, newest window.Minute) truth {
	sum := truth{global: {}}
	for key, m := range o.states {
		if key.minute < start || key.minute > newest {
			continue
		}
		for g, keys := range m.truth {
			for k, w := range keys {
				if sum.add(g, k, w); g != global {
					sum.add(global, k, w)
				}
			}
		}
	}
	return sum
}

// hidden is the weight that may be of g, in the overflow of sets that lack it.
func (o *oracle) hidden(g rule.Group, start, newest window.Minute) uint64 {
	var sum uint64
	for key, m := range o.states {
		if key.group != overflow || key.minute < start || key.minute > newest || g.Scope != rule.ScopeGroup {
			continue
		}
		if _, ok := o.states[answered{key.epoch, key.minute, g}]; !ok {
			sum += m.Summary.Total()
		}
	}
	return sum
}

// check holds every list that a reader has against the truth.
func (o *oracle) check(t testing.TB, b *Board, newest window.Minute) {
	t.Helper()
	for _, w := range b.windows {
		start := b.keep.Start(w, newest)
		exact := o.exact(start, newest)
		var total uint64
		for key, p := range o.lists {
			if key.window != w {
				continue
			}
			if at := p.Snapshot.WindowStart.UnixNano(); at != start.Start() {
				t.Fatalf("%v %v starts at %d, must at %d", w, key.group, at, start.Start())
			}
			o.checkList(t, p, exact[key.group])
			got, want := p.Snapshot.TotalUpper-p.Snapshot.Total, o.hidden(key.group, start, newest)
			if o.crowd = o.crowd || len(b.stats.OverflowedGroups)+len(b.stats.CrowdedGroups) > 0; !o.crowd && got != want {
				t.Fatalf("%v %v: %d may be hidden, must be %d", w, key.group, got, want)
			}
			if key.group != global {
				total += p.Snapshot.Total
			}
		}
		all, ok := o.lists[listKey{w, global}]
		require.True(t, ok, "the global list stays")
		require.Equal(t, weight(exact[global]), all.Snapshot.Total)
		require.Equal(t, all.Snapshot.Total, all.Snapshot.TotalUpper)
		if all.Snapshot.Rule.Grouped() {
			require.Equal(t, all.Snapshot.Total, total, "the lists of all groups add up to the global one")
		}
	}
}

// checkList holds the law: lower <= truth <= estimate for each key, listed or not, and certificates are true.
func (o *oracle) checkList(t testing.TB, p Published, exact map[string]uint64) {
	t.Helper()
	s := p.Snapshot
	fail := func(what string, args ...any) {
		t.Helper()
		t.Fatalf("%v %v: %s", s.Window, s.Group, fmt.Sprintf(what, args...))
	}
	known := s.Group.Scope != rule.ScopeOverflow // what the truth has no group for
	if f := weight(exact); known && (s.Total > f || f > s.TotalUpper) {
		fail("total is %d to %d, true %d", s.Total, s.TotalUpper, f)
	}
	listed := map[string]bool{}
	least := uint64(1<<64 - 1)
	for i, it := range s.List.Items {
		f := exact[it.Key]
		listed[it.Key] = true
		least = min(least, f)
		if lower, upper := p.Summary.Summary.Bounds(it.Key); lower != it.Lower || upper != it.Estimate {
			fail("%q is %d to %d in the list, %d to %d for a point query", it.Key, it.Lower, it.Estimate, lower, upper)
		}
		if i > 0 && it.Estimate > s.List.Items[i-1].Estimate {
			fail("%q is out of order", it.Key)
		}
		if known && (it.Lower > f || f > it.Estimate) {
			fail("%q is %d to %d, true %d", it.Key, it.Lower, it.Estimate, f)
		}
	}
	for key, f := range exact {
		if lower, upper := p.Summary.Summary.Bounds(key); lower > f || f > upper {
			fail("%q is %d to %d for a point query, true %d", key, lower, upper, f)
		}
		if !listed[key] && f > max(s.List.Theta, s.List.Next) {
			fail("%q is not listed, true %d, theta %d, next %d", key, f, s.List.Theta, s.List.Next)
		}
		if !listed[key] && s.List.Certified && f > least {
			fail("certified, but %q with %d is not listed, and an item has %d", key, f, least)
		}
	}
}

// checkExact holds that lists of summaries that never overflowed are exact.
func (o *oracle) checkExact(t testing.TB) {
	t.Helper()
	for key, p := range o.lists {
		s := p.Snapshot
		exact := o.exact(window.MinuteOf(s.WindowStart.UnixNano()), window.MinuteOf(s.AsOf.UnixNano()))[key.group]
		require.Equal(t, weight(exact), s.Total)
		require.Equal(t, s.Total, s.TotalUpper)
		require.EqualValues(t, len(exact), s.Distinct)
		require.True(t, s.List.Certified)
		require.Len(t, s.List.Items, min(len(exact), s.List.K))
		for _, it := range s.List.Items {
			require.Equal(t, exact[it.Key], it.Estimate)
			require.Equal(t, exact[it.Key], it.Lower)
		}
	}
}

func weight(keys map[string]uint64) uint64 {
	var sum uint64
	for _, w := range keys {
		sum += w
	}
	return sum
}
