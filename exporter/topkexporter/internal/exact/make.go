package exact

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/table"
)

// mostLeftOut is how many left out files a table names.
const mostLeftOut = 100

// doHour counts an hour, unless a table that is right is there, from this or another gateway.
func (x *Exact) doHour(ctx context.Context, l *ledger, at archive.Hour, s *standing) (made bool, err error) {
	p := l.place(hours, at)
	files, digest := x.files(l, at), x.digest(l, at)
	known, err := x.meta(ctx, p)
	if err != nil {
		return false, err
	}
	if known != nil && contains(known.Files, files) {
		x.judge(s, known, digest)
		return false, nil
	}
	kept, fresh, err := x.kept(ctx, p, files)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, kept.close()) }()
	if kept.table == nil && len(files) == 0 { // they were kept long enough, and their table is gone or damaged
		x.mu.Lock()
		s.there = false
		x.mu.Unlock()
		return false, nil
	}
	if known != nil {
		x.anew(l, at)
	}
	m := l.meta(at, at+1)
	m.Files = files
	rows := []iter.Seq2[table.Row, error]{}
	if kept.table != nil {
		of := kept.table.Meta()
		m.Files, m.Skipped, m.LeftOut = append(kept.gone, files...), of.Skipped, of.LeftOut
		rows = append(rows, kept.table.All(ctx))
	}
	if len(fresh) > 0 {
		counted, failed := x.Count(ctx, l.rule, at, fresh)
		if failed != nil {
			return false, failed
		}
		defer func() { err = errors.Join(err, counted.Close()) }()
		m.Skipped.Add(counted.Skipped)
		m.LeftOut = append(slices.Clone(m.LeftOut), counted.LeftOut...)
		rows = append(rows, counted.Rows)
	}
	m.Version = digestFiles(m.Files)
	if err := x.put(ctx, p, &m, table.Merge(rows...)); err != nil {
		return false, err
	}
	x.judge(s, &m, digest)
	return true, nil
}

// anew counts an hour that is counted again, and tells of the first one.
func (x *Exact) anew(l *ledger, at archive.Hour) {
	x.mu.Lock()
	x.stats.Anew++
	first := x.stats.Anew == 1
	x.mu.Unlock()
	if first {
		x.Logger.Warn("A closed hour has new files and is counted anew, as all that follow will be: its exact lists lacked what came later than recount.grace",
			zap.String("rule", l.d.Name), zap.Stringer("hour", at), zap.Duration("after_its_end", x.Now().Sub((at+1).Start()).Truncate(time.Second)))
	}
}

// contains says whether all of files are among made, which may name more: files that were kept long enough.
func contains(made, files []archive.File) bool {
	of := make(map[archive.File]bool, len(made))
	for _, f := range made {
		of[f] = true
	}
	return !slices.ContainsFunc(files, func(f archive.File) bool { return !of[f] })
}

// doDay merges the hours of a day.
func (x *Exact) doDay(ctx context.Context, l *ledger, day archive.Hour, s *standing) (made bool, err error) {
	parts, ok := x.parts(l, day)
	if !ok {
		return false, nil
	}
	digest, p := digestParts(parts), l.place(days, day)
	known, err := x.meta(ctx, p)
	if err != nil {
		return false, err
	}
	if known != nil && known.Version == digest {
		x.judge(s, known, digest)
		return false, nil
	}
	m := l.meta(day, day+oneDay)
	m.Parts, m.Version = parts, digest
	var from []place
	for _, part := range parts {
		from = append(from, l.place(hours, part.From))
	}
	if err := x.merge(ctx, p, &m, from); err != nil {
		return false, err
	}
	x.judge(s, &m, digest)
	return true, nil
}

// doAll merges all days that are kept and follow one another. Days that are not kept any more stay in it as long as nothing of it
// changes.
func (x *Exact) doAll(ctx context.Context, l *ledger, s *standing) (made bool, err error) {
	parts, ok := x.allParts(l, x.Now())
	if !ok || len(parts) == 0 || digestParts(parts) == s.judged || x.Now().Before(s.ready) {
		return false, nil
	}
	p := l.place(all, 0)
	known, err := x.meta(ctx, p)
	if err != nil {
		return false, err
	}
	earlier, same := 0, 0
	if known != nil {
		for earlier < len(known.Parts) && known.Parts[earlier].From < parts[0].From {
			earlier++
		}
		if earlier > 0 && known.Parts[earlier-1].To < parts[0].From && x.missing(l, known.Parts[earlier-1].To, parts[0].From) {
			known = nil
		}
	}
	if known != nil {
		for same < len(parts) && earlier+same < len(known.Parts) && known.Parts[earlier+same] == parts[same] {
			same++
		}
		if earlier+same < len(known.Parts) { // a day of it was made anew
			known = nil
		}
	}
	digest := digestParts(parts)
	if known != nil && same == len(parts) {
		x.judge(s, known, digest)
		return false, nil
	}
	m := l.meta(parts[0].From, parts[len(parts)-1].To)
	m.Parts = parts
	var from []place
	if known != nil {
		m.From = known.From
		m.Parts = append(slices.Clone(known.Parts), parts[same:]...)
		m.LeftOut, m.Skipped = known.LeftOut, known.Skipped
		from = append(from, p)
		parts = parts[same:]
	}
	for _, part := range parts {
		from = append(from, l.place(days, part.From))
	}
	m.Version = digestParts(m.Parts)
	if err := x.merge(ctx, p, &m, from); err != nil {
		return false, err
	}
	x.judge(s, &m, digest)
	return true, nil
}

// allParts are the newest days that follow one another; ok is false while one of them is still to be counted. A day that failed
// again and again ends them.
func (x *Exact) allParts(l *ledger, now time.Time) (parts []table.Part, ok bool) {
	last, known := x.newest(l)
	if !known {
		return nil, false
	}
	for day := last.Day(); day >= x.oldest(l); day -= oneDay {
		hours, whole := x.parts(l, day)
		s := l.days[day]
		switch {
		case whole && s != nil && s.version != "" && s.judged == digestParts(hours):
			parts = append(parts, table.Part{From: day, To: day + oneDay, Version: s.version})
		case !x.closed(l, day, oneDay, now), !x.anyOf(l, day):
		case x.hopeless(l, day):
			day = x.oldest(l)
		default:
			return nil, false
		}
	}
	slices.Reverse(parts)
	return parts, true
}

// manyFailures in turn, after more than half an hour, are no accident.
const manyFailures = 6

// hopeless says whether an hour of a day cannot be counted.
func (x *Exact) hopeless(l *ledger, day archive.Hour) bool {
	for at := day; at < day+oneDay; at++ {
		if s := l.hours[at]; s != nil && s.failures >= manyFailures {
			return true
		}
	}
	s := l.days[day]
	return s != nil && s.failures >= manyFailures
}

// anyOf says whether an hour of a day has to have a table.
func (x *Exact) anyOf(l *ledger, day archive.Hour) bool {
	for at := day; at < day+oneDay; at++ {
		if x.counts(l, at) {
			return true
		}
	}
	return false
}

// missing says whether a day between from and to has to have a table.
func (x *Exact) missing(l *ledger, from, to archive.Hour) bool {
	for day := from; day < to; day += oneDay {
		if x.anyOf(l, day) {
			return true
		}
	}
	return false
}

func (l *ledger) meta(from, to archive.Hour) table.Meta {
	return table.Meta{Rule: l.d.Name, Fingerprint: l.fingerprint, Signals: l.d.Signals, From: from, To: to}
}

// judge notes that the table that m describes is right.
func (x *Exact) judge(s *standing, m *table.Meta, digest string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	s.there, s.judged, s.version, s.leftOut, s.from, s.to = true, digest, m.Version, len(m.LeftOut) > 0, m.From, m.To
	s.total = 0
	if sum := m.Sum(rule.Group{}); sum != nil {
		s.total = sum.Weight
	}
}

// meta of the first lists of a table, which are written last; nil where there are none, or none that read.
func (x *Exact) meta(ctx context.Context, p place) (*table.Meta, error) {
	o, err := x.Store.Open(ctx, p.list())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	t, err := table.Open(o)
	err = errors.Join(err, o.Close())
	switch {
	case errors.Is(err, archive.ErrDamaged), errors.Is(err, archive.ErrForeign):
		return nil, nil
	case err != nil:
		return nil, err
	case t.Meta().Fingerprint != p.fingerprint || t.Meta().Rule != p.rule || p.kind != all && t.Meta().From != p.from:
		return nil, nil
	}
	return t.Meta(), nil
}

// put writes a table, reads it, and writes the first of its lists: they stand for the table, so they come last.
func (x *Exact) put(ctx context.Context, p place, m *table.Meta, rows iter.Seq2[table.Row, error]) error {
	m.LeftOut = m.LeftOut[:min(len(m.LeftOut), mostLeftOut)]
	if _, err := x.Store.Put(ctx, p.table(), func(w io.Writer) error { return table.Write(w, *m, rows) }); err != nil {
		return err
	}
	o, t, err := x.openTable(ctx, p.table())
	if err != nil {
		return err
	}
	first := *t.Meta()
	first.First = rule.MaxK
	m.Sums = first.Sums
	_, err = x.Store.Put(ctx, p.list(), func(w io.Writer) error { return table.Write(w, first, firstOf(t.All(ctx), first.First)) })
	return errors.Join(err, o.Close())
}

// openTable opens a table.
func (x *Exact) openTable(ctx context.Context, path string) (archive.Object, *table.Table, error) {
	o, err := x.Store.Open(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	t, err := table.Open(o)
	if err != nil {
		return nil, nil, errors.Join(err, o.Close())
	}
	return o, t, nil
}
