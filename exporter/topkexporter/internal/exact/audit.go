package exact

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/table"
	"github.com/otel-topk/collector/topk"
)

// Served is what was served of the past.
type Served interface {
	// Groups of which d counted something in the hours before to, the first of which is from. None: nothing was served, or by another
	// definition, which is said.
	Groups(d *rule.Definition, from, to archive.Hour) ServedGroups
	// List of one of them; nil where it is gone.
	List(ctx context.Context, d *rule.Definition, g rule.Group, from, to archive.Hour) (*ServedList, error)
}

// ServedGroups are the lists of a span.
type ServedGroups struct {
	Groups  []rule.Group
	Hours   map[archive.Hour]bool // of which something is kept, and whether anything was counted in them
	Version uint64                // of what is kept of them: it changes with it

	Other    bool // another definition counted under the name in these hours
	Expected bool // something of these hours would be kept if it had been served, as it is of earlier ones
	Gone     bool // it may have been served and be kept no more
}

// ServedList is a list as it is served where there is no exact one.
type ServedList struct {
	List    topk.List
	Total   uint64
	Count   func(key string) (lower, upper uint64) // of any key
	Reasons []string                               // why records may be missing
}

// Compared is how a list was served against what is exact.
type Compared struct {
	Group      rule.Group
	Agreement  float64 // part of the exact first 10 that was served as such, ties aside
	BoundsHeld bool    // of the exact and the served first 10: lower <= exact <= estimate
	Certified  bool    // the served first 10
	Error      uint64  // the largest difference of an estimate from what is exact
	ErrorBound uint64  // the largest that was served
	Total      uint64  // exact
	Served     uint64  // total
}

// auditedK is how much of a list is audited.
const auditedK = 10

// compare a served list with the exact one. weigh is the exact weight of any key.
func compare(served *ServedList, exact []table.Row, weigh func(key string) (uint64, error)) (Compared, error) {
	c := Compared{Agreement: 1, BoundsHeld: true}
	first := served.List.First(min(auditedK, served.List.K))
	exact = exact[:min(len(exact), auditedK)]
	c.Certified = first.Certified
	hold := func(lower, estimate, weight uint64) {
		c.BoundsHeld = c.BoundsHeld && lower <= weight && weight <= estimate
		c.Error = max(c.Error, estimate-min(estimate, weight), weight-min(estimate, weight))
		c.ErrorBound = max(c.ErrorBound, estimate-lower)
	}
	agreed := 0
	for i := range first.Items {
		item := &first.Items[i]
		weight, err := weigh(item.Key)
		if err != nil {
			return c, err
		}
		hold(item.Lower, item.Estimate, weight)
		if n := len(exact); n > 0 && weight >= exact[n-1].Weight {
			agreed++
		}
	}
	for i := range exact {
		lower, upper := served.Count(exact[i].Key)
		hold(lower, upper, exact[i].Weight)
	}
	switch wanted := max(len(exact), min(len(first.Items), auditedK)); {
	case len(exact) > 0:
		c.Agreement = float64(min(agreed, len(exact))) / float64(len(exact))
	case wanted > 0: // keys that never came
		c.Agreement = 0
	}
	return c, nil
}

// auditAll audits what is exact and was served, once for each version of both.
func (x *Exact) auditAll(ctx context.Context) {
	for _, l := range x.ledgers {
		l.due = span{}
		for _, standings := range []map[archive.Hour]*standing{l.hours, l.days} {
			for _, s := range standings {
				if ctx.Err() != nil {
					return
				}
				if s.version != "" && s.to > x.oldest(l) {
					x.auditOne(ctx, l, s)
				}
			}
		}
		x.noteLag(l)
	}
	x.tellUnserved()
	x.Storage.Commit(ctx)
}

// auditOne audits one hour or day, if all of it was served, or what was not is found out, and that has not changed between two looks.
// What was audited is not audited again where less is kept of what was served.
func (x *Exact) auditOne(ctx context.Context, l *ledger, s *standing) {
	served := x.Served.Groups(l.d, s.from, s.to)
	settled := s.served == served.Version
	s.served = served.Version
	known := x.audits.get(auditKey(l, s))
	unserved := x.unserved(l, s, &served, known)
	if s.to-s.from == 1 && s.total > 0 && (unserved || len(served.Groups) > 0 || served.Other) {
		l.due.include(s.from, s.to)
	}
	switch {
	case !settled, !unserved && (len(served.Groups) == 0 || x.awaiting(l, s, &served)):
		return
	case known != nil && known.Exact == s.version && (known.ServedVersion == served.Version || known.ServedHours > len(served.Hours)):
		return
	}
	c, status := x.cover(&Question{
		Rule: l.d.Name, Fingerprint: l.fingerprint, From: s.from, To: s.to,
		Served: func(at archive.Hour) bool { return served.Hours[at] },
	}, x.Now())
	if status != Exactly {
		return
	}
	a, err := x.audit(ctx, c, served.Groups)
	if err != nil {
		if ctx.Err() == nil {
			x.Logger.Warn("An audit failed; it is tried again", zap.String("rule", l.d.Name), zap.Stringer("from", s.from), zap.Error(err))
		}
		return
	}
	a.Exact, a.ServedVersion, a.ServedHours, a.Unserved = s.version, served.Version, len(served.Hours), unserved
	x.audits.put(auditKey(l, s), a)
	switch {
	case unserved && known == nil:
		l.unserved++
	case !unserved && !a.Agrees():
		x.Logger.Warn("What was served disagrees with the exact count",
			zap.String("rule", a.Rule), zap.Stringer("from", a.From), zap.Stringer("to", a.To), zap.Int("lists", a.Lists),
			zap.Int("disagreeing", a.Disagreeing), zap.Float64("agreement", a.Agreement), zap.Bool("bounds_held", a.BoundsHeld),
			zap.Strings("partial_reasons", a.Reasons))
	}
}

// awaiting says whether an hour that has a table may still be served.
func (x *Exact) awaiting(l *ledger, s *standing, served *ServedGroups) bool {
	for at := s.from; at < s.to; at++ {
		hour := l.hours[at]
		if _, kept := served.Hours[at]; !kept && hour != nil && hour.version != "" && (s.to-s.from == 1 || !x.foundUnserved(l, hour)) {
			return true
		}
	}
	return false
}

// audit every list of a span: those that were served, and those that are exact.
func (x *Exact) audit(ctx context.Context, c *cover, groups []rule.Group) (*Audit, error) {
	l := c.ledger
	a := &Audit{
		Rule: l.d.Name, Fingerprint: l.fingerprint, From: c.from, To: c.to, At: x.Now().UTC().Truncate(time.Second),
		Agreement: 1, BoundsHeld: true, Certified: true, LeftOut: c.leftOut,
	}
	sums, err := x.sums(ctx, c)
	if err != nil {
		return nil, err
	}
	overflowed := false
	known := map[rule.Group]bool{}
	for _, g := range groups {
		overflowed = overflowed || g.Scope == rule.ScopeOverflow
		known[g] = true
	}
	for i := range sums {
		if g := sums[i].Group; !known[g] && !overflowed { // of what was counted there, nothing was served
			groups = append(groups, g)
		}
	}
	for _, g := range groups {
		if g.Scope == rule.ScopeOverflow { // what shares it depends on the shards
			continue
		}
		compared, reasons, err := x.compareList(ctx, c, g)
		if err != nil {
			return nil, err
		}
		a.add(compared, reasons)
	}
	return a, nil
}

// sums of all lists of a cover of one table.
func (x *Exact) sums(ctx context.Context, c *cover) ([]table.Sum, error) {
	if len(c.places) != 1 {
		return nil, nil // of a day that is not merged yet, or of nothing
	}
	o, t, err := x.openPart(ctx, c.places[0], c.places[0].list())
	if err != nil {
		return nil, err
	}
	return t.Meta().Sums, o.Close()
}

func (x *Exact) compareList(ctx context.Context, c *cover, g rule.Group) (Compared, []string, error) {
	exact, err := x.build(ctx, c, g)
	if err != nil {
		return Compared{}, nil, err
	}
	served, err := x.Served.List(ctx, c.ledger.d, g, c.from, c.to)
	if err != nil {
		return Compared{}, nil, err
	}
	nothing := served == nil
	if nothing {
		served = &ServedList{List: topk.List{K: auditedK}, Count: func(string) (lower, upper uint64) { return 0, 0 }}
	}
	weights := make(map[string]uint64, len(exact.Rows))
	for i := range exact.Rows {
		weights[exact.Rows[i].Key] = exact.Rows[i].Weight
	}
	compared, err := compare(served, exact.Rows, func(key string) (uint64, error) {
		if weight, known := weights[key]; known {
			return weight, nil
		}
		found, err := x.countIn(ctx, c, g, key)
		if err != nil {
			return 0, err
		}
		return found.Sum.Weight, nil
	})
	compared.Group, compared.Total, compared.Served = g, exact.Sum.Weight, served.Total
	compared.Certified = compared.Certified && !nothing
	return compared, served.Reasons, err
}
