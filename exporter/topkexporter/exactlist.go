package topkexporter

import (
	"context"
	"net/url"
	"slices"
	"time"

	"github.com/otel-topk/collector/exporter/topkexporter/internal/exact"
	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

// reasonPending is the partial reason of a list that will be exact before long.
const reasonPending = "exact_pending"

// newExactList is l as it is served: every number is what it is.
func newExactList(d *rule.Definition, l *exact.List) *list {
	first := topk.List{K: d.K}
	for i := range l.Rows {
		if i == d.K {
			first.Next = l.Rows[i].Weight
			break
		}
		first.Items = append(first.Items, topk.Item{Key: l.Rows[i].Key, Estimate: l.Rows[i].Weight, Lower: l.Rows[i].Weight})
	}
	var reasons []string
	if l.LeftOut {
		reasons = []string{reasonDamaged}
	}
	return &list{
		Snapshot: &wire.Snapshot{
			Rule: d, Window: time.Duration(l.To-l.From) * time.Hour, Group: l.Sum.Group, WindowStart: l.From.Start(), AsOf: l.To.Start(),
			PartialReasons: reasons, Total: l.Sum.Weight, TotalUpper: l.Sum.Weight, Records: l.Sum.Records, Distinct: l.Sum.Distinct,
			List: first.First(d.K),
		},
		keyed: d,
	}
}

// question asks for the exact list of what p answers approximately; nil where there are no exact lists, or what was served is not
// what they count, which other says.
func (h *handler) question(c *catalog, p *plan) (asked *exact.Question, other bool) {
	if h.recounts == nil || h.recounts.exact == nil || p.group.Scope == rule.ScopeOverflow {
		return nil, false
	}
	local := h.recounts.exact.Definition(p.rule)
	if local == nil {
		return nil, false
	}
	served, seeded := p.d, true
	if served == nil {
		served, seeded = h.counted(c, p.rule)
	}
	if served != nil && !sameCount(served, local, seeded) {
		return nil, true
	}
	q := &exact.Question{Rule: p.rule, Group: p.group, From: hourOf(p.span.from), To: hourOf(p.span.to), Served: h.store.history.counted(p)}
	if q.Group.Scope == rule.ScopeGroup {
		q.Group = local.GroupOf(q.Group.Name)
	}
	return q, false
}

func hourOf(m window.Minute) archive.Hour { return archive.Hour(m / oneHour) }

// takeExact makes l the answer.
func (s *selection) takeExact(l *exact.List, q *exact.Question) {
	s.list, s.exact, s.group = newExactList(s.rule.definition, l), q, q.Group
}

// pending notes that the list will be exact before long.
func (s *selection) pending() { s.reason(reasonPending) }

// reason adds one to the partial reasons.
func (s *selection) reason(text string) {
	s.reasons = append(slices.Clone(s.reasons), text)
	if s.list == nil {
		return
	}
	snapshot := *s.list.Snapshot
	snapshot.PartialReasons = append(slices.Clone(snapshot.PartialReasons), text)
	s.list = &list{Snapshot: &snapshot, summary: s.list.summary, keyed: s.list.keyed, received: s.list.received}
	s.passing = true
}

// allTime is the window since the first exact table.
const allTime = "all"

// chooseAll finds the list of all time.
func (h *handler) chooseAll(ctx context.Context, c *catalog, q url.Values) (selection, error) {
	if h.recounts == nil || h.recounts.exact == nil {
		return selection{}, notFound("window: all is counted from an archive; this exporter has no recount section")
	}
	s, err := h.chooseRuleOfPast(c, q)
	s.window = allTime
	if err != nil || s.rule == nil {
		return s, err
	}
	name := s.rule.definition.Name
	asked, _ := h.question(c, &plan{rule: name, group: s.group})
	if asked == nil {
		return s, h.noAllTime(c, name)
	}
	asked.All = true
	l, status := h.recounts.exact.List(ctx, asked)
	switch {
	case status == exact.Exactly:
		s.takeExact(l, asked)
		return s, nil
	case l == nil:
		s.pending()
		return s, nil
	}
	at := spanOfHours(l.From, l.To)
	at.from = max(at.from, at.to-window.Minute(h.longestSpan/window.Bucket))
	if err := h.approximate(ctx, &s, at); err != nil {
		return s, err
	}
	if status == exact.Pending {
		s.pending()
	}
	return s, nil
}

// noAllTime says why there is no list of all time.
func (h *handler) noAllTime(c *catalog, name string) error {
	r := h.recounts.rules[name]
	switch {
	case r == nil:
		return notFound("window: rule %q is not among recount.rules; all is counted of: %s", name, named(h.recounts.names))
	case !countable(r):
		return conflicting("window: rule %q counts data points, which are not archived; all is counted of rules over logs and spans", name)
	}
	if err := h.agrees(c, r.Definition()); err != nil {
		return err
	}
	return badRequest("scope: overflow is not counted exactly: there every group has its own list; allowed: global, group, missing")
}
