package exact

import (
	"context"
	"slices"
	"time"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/table"
)

// Status says how a question can be answered.
type Status uint8

// How a question can be answered.
const (
	Approximate Status = iota // only by what was served
	Pending                   // exactly, before long
	Exactly
)

// Question names a list over whole hours.
type Question struct {
	Rule        string
	Fingerprint string // of the definition that was served; "": none was
	Group       rule.Group
	From, To    archive.Hour // from From up to and without To
	All         bool         // instead: since the first table, up to the newest hour that is closed

	// Served says whether records of an hour were served. Where the archive has none of them, it is not exact.
	Served func(archive.Hour) bool
}

// List is exact.
type List struct {
	From, To archive.Hour
	Sum      table.Sum
	Rows     []table.Row // the heaviest first, at most rule.MaxK
	LeftOut  bool        // damaged or foreign files are missing from it
}

// cover are the tables that hold a span.
type cover struct {
	ledger   *ledger
	places   []place
	parts    []table.Part
	from, to archive.Hour
	leftOut  bool
}

// Definition of a rule, nil if there is none of that name.
func (x *Exact) Definition(name string) *rule.Definition {
	if l := x.ledgers[name]; l != nil {
		return l.d
	}
	return nil
}

// List answers q. It waits a second at most. Of all time it tells the span also where it is not exact yet, in a list without rows,
// once it is known.
func (x *Exact) List(ctx context.Context, q *Question) (*List, Status) {
	c, status := x.cover(q, x.Now())
	if status == Exactly {
		key := flightKey{rule: q.Rule, group: q.Group, version: c.version()}
		if l := x.flights.get(ctx, key, func(ctx context.Context) (*List, error) { return x.build(ctx, c, q.Group) }); l != nil {
			return l, Exactly
		}
		status = Pending
	}
	if c != nil && q.All {
		return &List{From: c.from, To: c.to}, status
	}
	return nil, status
}

// CountKey is the weight of one key in the list of q, as Sum of what it returns.
func (x *Exact) CountKey(ctx context.Context, q *Question, key string) (*List, Status) {
	c, status := x.cover(q, x.Now())
	if status != Exactly {
		return nil, status
	}
	name := flightKey{rule: q.Rule, group: q.Group, version: c.version(), keyed: true, key: key}
	if l := x.flights.get(ctx, name, func(ctx context.Context) (*List, error) { return x.countIn(ctx, c, q.Group, key) }); l != nil {
		return l, Exactly
	}
	return nil, Pending
}

func (c *cover) version() string {
	return digestParts(append(slices.Clone(c.parts), table.Part{From: c.from, To: c.to}))
}

func (c *cover) add(p place, s *standing) {
	c.places = append(c.places, p)
	c.parts = append(c.parts, table.Part{From: s.from, To: s.to, Version: s.version})
	c.leftOut = c.leftOut || s.leftOut
}

// cover finds the tables that hold the span of q: days where they fit, else hours. Where it is not exact, it is nil, or of all time
// the span.
func (x *Exact) cover(q *Question, now time.Time) (*cover, Status) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	l := x.ledgers[q.Rule]
	switch {
	case l == nil, q.Fingerprint != "" && q.Fingerprint != l.fingerprint:
		return nil, Approximate
	case q.All:
		return x.coverAll(l, q.Served, now)
	case q.From >= q.To:
		return nil, Approximate
	case !x.closed(l, q.To-1, 1, now):
		return nil, Approximate
	case !x.looked:
		return nil, Pending
	}
	c := &cover{ledger: l, from: q.From, to: q.To}
	return c, x.extend(c, q.From, q.To, q.Served)
}

// extend c by the hours before to, the first of which is from.
func (x *Exact) extend(c *cover, from, to archive.Hour, served func(archive.Hour) bool) Status {
	l := c.ledger
	first, known := x.firstOf(l)
	if !known || from < first.Day() { // nobody knows whether the archive lacks something
		return Approximate
	}
	for at := from; at < to; {
		if at == at.Day() && at+oneDay <= to {
			if s := l.days[at]; s != nil && s.version != "" {
				if parts, ok := x.parts(l, at); ok && s.judged == digestParts(parts) && !x.lacking(l, at, at+oneDay, served) {
					c.add(l.place(days, at), s)
					at += oneDay
					continue
				}
			}
		}
		switch {
		case x.lacking(l, at, at+1, served):
			return Approximate
		case !x.counts(l, at):
		case !x.right(l, at) && at < x.oldest(l):
			return Approximate
		case !x.right(l, at):
			return Pending
		default:
			c.add(l.place(hours, at), l.hours[at])
		}
		at++
	}
	return Exactly
}

// lacking says whether the archive has nothing of an hour of which something was served.
func (x *Exact) lacking(l *ledger, from, to archive.Hour, served func(archive.Hour) bool) bool {
	for at := from; at < to; at++ {
		if !x.counts(l, at) && served != nil && served(at) {
			return true
		}
	}
	return false
}

// firstOf is the first hour of which the archive has or had something.
func (x *Exact) firstOf(l *ledger) (first archive.Hour, known bool) {
	note := func(at archive.Hour) {
		if !known || at < first {
			first, known = at, true
		}
	}
	for _, signal := range l.d.Signals {
		if s := x.signals[signal]; len(s.hours) > 0 {
			note(s.first)
		}
	}
	for at, s := range l.hours {
		if s.there {
			note(at)
		}
	}
	return first, known
}

// build the list of g.
func (x *Exact) build(ctx context.Context, c *cover, g rule.Group) (l *List, err error) {
	l = &List{From: c.from, To: c.to, Sum: table.Sum{Group: g}, LeftOut: c.leftOut}
	if len(c.places) == 1 {
		return l, x.read(ctx, c.places[0], l)
	}
	s, err := x.sources(ctx, c.places, &g)
	if err != nil {
		_ = s.close()
		return nil, err
	}
	first := table.Heaviest{Most: rule.MaxK}
	for row, err := range table.Merge(s.rows...) {
		if err != nil {
			_ = s.close()
			return nil, err
		}
		if row.Weight > 0 {
			l.Sum.Distinct++
		}
		l.Sum.Weight += row.Weight
		l.Sum.Records += row.Records
		first.Add(row)
	}
	l.Rows = first.Rows()
	return l, s.close()
}

// read the first of a list of one table.
func (x *Exact) read(ctx context.Context, p place, l *List) error {
	o, t, err := x.openPart(ctx, p, p.list())
	if err != nil {
		return err
	}
	if sum := t.Meta().Sum(l.Sum.Group); sum != nil {
		l.Sum = *sum
	}
	first := table.Heaviest{Most: rule.MaxK}
	for row, err := range t.Rows(ctx, l.Sum.Group) {
		if err != nil {
			_ = o.Close()
			return err
		}
		first.Add(row)
	}
	l.Rows = first.Rows()
	return o.Close()
}

// countIn adds up what the tables of c have of key.
func (x *Exact) countIn(ctx context.Context, c *cover, g rule.Group, key string) (*List, error) {
	l := &List{From: c.from, To: c.to, Sum: table.Sum{Group: g}, LeftOut: c.leftOut}
	for _, p := range c.places {
		o, t, err := x.openPart(ctx, p, p.table())
		if err != nil {
			return nil, err
		}
		row, err := t.Count(ctx, g, key)
		_ = o.Close()
		if err != nil {
			return nil, err
		}
		l.Sum.Weight += row.Weight
		l.Sum.Records += row.Records
	}
	return l, nil
}
