package board

import (
	"math"

	"github.com/otel-topk/collector/internal/window"
)

// incidents of one minute or hour of arrival.
type incidents struct {
	records, late, future, dropped uint64
	damaged                        uint64 // stored values that could not be read
	differ                         uint64 // minutes of which replicas counted different totals
	silent                         bool   // a shard was, while the hour went on
}

func (i *incidents) add(o incidents) {
	i.records = saturated(i.records, o.records)
	i.late = saturated(i.late, o.late)
	i.future = saturated(i.future, o.future)
	i.dropped = saturated(i.dropped, o.dropped)
	i.damaged = saturated(i.damaged, o.damaged)
	i.differ = saturated(i.differ, o.differ)
	i.silent = i.silent || o.silent
}

// saturated is the sum of two counts of reports, which may hold anything; it ends at the largest number.
func saturated(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

// note what happened in m, for its windows and for the rollup of its hour.
func (b *Board) note(r *ruled, m window.Minute, n incidents) {
	if n == (incidents{}) {
		return
	}
	for _, size := range [...]window.Size{window.OneMinute, window.OneHour} {
		p := window.PartOf(m, size)
		at := r.incidents[p]
		at.add(n)
		r.incidents[p] = at
		b.keepIncidents(r, p)
	}
}

// miss notes that a shard was silent, in the hours from when it was last heard of that are kept.
func (b *Board) miss(e *epoch, now int64) {
	last := window.MinuteOf(now)
	first := window.PartOf(max(window.MinuteOf(e.last), last-window.Minute(b.keep.Hours/window.Bucket)), window.OneHour)
	for _, p := range e.reports {
		r := b.rules[p.rule]
		for at := first; r != nil && at.Start <= last; at.Start = at.End() {
			if n := r.incidents[at]; !n.silent {
				n.silent = true
				r.incidents[at] = n
				b.keepIncidents(r, at)
			}
		}
	}
}

// damage notes that something of m could not be read.
func (b *Board) damage(r *ruled, m window.Minute) { b.note(r, m, incidents{damaged: 1}) }

// forgetIncidents lets go what no window and no hour shows any more.
func (b *Board) forgetIncidents(r *ruled, s span) {
	for p := range r.incidents {
		if p.Size == window.OneMinute && p.Start < s.first-setBackMinutes || p.Size == window.OneHour && !b.keep.Kept(p, s.newest-setBackMinutes) {
			delete(r.incidents, p)
			b.remove(incidentKey(p, r.name))
		}
	}
}
