package topkexporter

import (
	"cmp"
	"slices"
	"time"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
)

// Partial reasons of spans of the past.
const (
	reasonOverflow = "overflow"
	reasonShort    = "short_window"
	reasonChanged  = "definition_changed" // hours of another definition are left out
	reasonDamaged  = "damaged"            // a roll-up could not be read
	reasonMissing  = "missing_hours"      // hours without a roll-up
	reasonOpen     = "open_hour"          // an hour that is not over yet
	reasonStorage  = "storage"            // the storage could not be read
)

// rollUpDelay is how long after its end an hour may lack its roll-up: gateways make them once a minute.
const rollUpDelay = 2 * time.Minute

// plan says what is merged for the list of one group over a span.
type plan struct {
	rule    string
	era     *era // nil: nothing is kept of the span
	d       *rule.Definition
	group   rule.Group
	span    span
	reads   []reading
	reasons []string
	covered window.Minute // the first after what is covered; 0: nothing is
	clock   uint64        // of history, when it was made
	until   time.Time     // when an open hour will be over; zero: none is open
}

// reading is a roll-up to be read.
type reading struct {
	key   string
	start window.Minute
	group rule.Group
	asOf  int64
	bound bool // it is the overflow, which bounds what the group may have there
}

// plan what the list of g is made of. Where two definitions counted under the name, the one of the newest hour answers.
func (h *history) plan(name string, g rule.Group, s span, now time.Time) *plan {
	h.mu.RLock()
	defer h.mu.RUnlock()
	p := &plan{rule: name, group: g, span: s, clock: h.clock}
	past := h.rules[name]
	if past == nil {
		past = &pastRule{}
	}
	p.choose(past)
	hours := []*hour(nil)
	if p.era != nil {
		hours = p.era.within(s)
		p.d = p.era.definition
		if g.Scope == rule.ScopeGroup {
			p.group = p.d.GroupOf(g.Name)
		}
	}
	for start := s.from; start < s.to; start += oneHour {
		if len(hours) > 0 && hours[0].start == start {
			p.add(hours[0])
			hours = hours[1:]
			continue
		}
		p.lacks(past, start, now)
	}
	return p
}

// choose the era that answers: of those that counted in the newest hour, the one that counted last, or began last.
func (p *plan) choose(past *pastRule) {
	var newest window.Minute
	others := 0
	for _, e := range past.eras {
		hours := e.within(p.span)
		if len(hours) == 0 {
			continue
		}
		others++
		last := hours[len(hours)-1].start
		if p.era == nil || cmp.Or(cmp.Compare(last, newest), cmp.Compare(e.last().start, p.era.last().start),
			cmp.Compare(e.hours[0].start, p.era.hours[0].start)) > 0 {
			p.era, newest = e, last
		}
	}
	if p.group.Scope != rule.ScopeGlobal && p.era != nil && !p.era.definition.Grouped() {
		p.era, others = nil, 2 // it knew no groups
	}
	if others > 1 {
		p.reason(reasonChanged)
	}
}

// add what an hour holds of the group.
func (p *plan) add(at *hour) {
	own := at.find(p.era, p.group)
	over := at.find(p.era, rule.Group{Scope: rule.ScopeOverflow})
	switch {
	case own != nil:
		p.read(at, own, false)
	case p.group.Scope == rule.ScopeGroup && over != nil:
		p.read(at, over, true)
	}
	if own == nil && p.group.Scope == rule.ScopeGlobal || !at.whole(p.era) && p.group.Scope != rule.ScopeGlobal {
		p.reason(reasonMissing)
	}
	if own == nil && p.group.Scope == rule.ScopeGlobal {
		return
	}
	for _, reason := range at.reasons {
		p.reason(reason)
	}
	p.covered = at.start + oneHour
}

func (p *plan) read(at *hour, known *entry, bound bool) {
	p.reads = append(p.reads, reading{
		key: p.era.rollupKey(at.start, known.slot), start: at.start, group: p.era.groups.groups[known.group], asOf: known.asOf, bound: bound,
	})
}

// lacks says why there is nothing of an hour.
func (p *plan) lacks(past *pastRule, start window.Minute, now time.Time) {
	if slices.ContainsFunc(past.eras, func(e *era) bool { return e.at(start) != nil }) {
		return // another definition counted, which is said
	}
	over := time.Unix(0, (start + oneHour).Start()).Add(rollUpDelay)
	if !now.Before(over) {
		p.reason(reasonMissing)
		return
	}
	p.reason(reasonOpen)
	if p.until.IsZero() {
		p.until = over
	}
}

func (p *plan) reason(text string) {
	if !slices.Contains(p.reasons, text) {
		p.reasons = append(p.reasons, text)
	}
}

// holds says whether nothing has changed that p was made of.
func (h *history) holds(p *plan, now time.Time) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	past := h.rules[p.rule]
	switch {
	case !p.until.IsZero() && !now.Before(p.until):
		return false
	case past == nil:
		return p.era == nil
	case past.removed > p.clock && past.removedTo >= p.span.from:
		return false
	}
	for _, e := range past.eras {
		for _, at := range e.within(p.span) {
			if at.changed > p.clock {
				return false
			}
		}
	}
	return true
}
