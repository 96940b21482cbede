package exact

import (
	"context"
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/otel-topk/collector/internal/archive"
)

// untouched is how long nobody has written to a half table that nobody will end.
const untouched = 10 * time.Minute

// look lists what the archive holds: all of it, or the newest hours.
func (x *Exact) look(ctx context.Context, full bool) error {
	now := x.Now()
	if x.began.IsZero() {
		x.began = now
	}
	current := archive.HourOf(now.UnixNano())
	from, to := archive.Hour(0), current+1
	if !full {
		from = current - recentHours
	}
	for _, signal := range slices.Sorted(maps.Keys(x.signals)) {
		files, _, err := x.Store.Files(ctx, signal, from, to)
		if err != nil {
			return err
		}
		x.mu.Lock()
		x.signals[signal].put(files, from, to, now, x.settle)
		x.mu.Unlock()
	}
	if !full {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(x.ledgers)) {
		if err := x.lookAtTables(ctx, x.ledgers[name]); err != nil {
			return err
		}
	}
	for _, root := range []string{tableRoot, listRoot} { // tables that a crash left half written
		if _, err := x.Store.Abandoned(ctx, root, now.Add(-untouched)); err != nil {
			return err
		}
	}
	x.mu.Lock()
	before := x.looked
	x.looked = true
	x.mu.Unlock()
	if !before {
		x.tellEmpty()
	}
	return nil
}

// tellEmpty warns of signals of which the archive has nothing: it may be another one than the records go to.
func (x *Exact) tellEmpty() {
	for _, signal := range slices.Sorted(maps.Keys(x.signals)) {
		if len(x.signals[signal].hours) == 0 {
			x.Logger.Warn("The archive has no file of a signal yet: nothing is exact until the parquet exporter writes to recount.archive",
				zap.String("signal", signal))
		}
	}
}

// lookAtTables lists the tables of a rule, and removes those that were kept long enough, of its earlier definitions too.
func (x *Exact) lookAtTables(ctx context.Context, l *ledger) error {
	for k, standings := range map[kind]map[archive.Hour]*standing{hours: l.hours, days: l.days} {
		entries, err := x.Store.List(ctx, tableRoot+folder(k, l.d.Name))
		if err != nil {
			return err
		}
		there := map[archive.Hour]bool{}
		for _, entry := range entries {
			p, ok := parsePlace(k, l.d.Name, entry.Path)
			switch {
			case !ok:
			case x.expired(l, p):
				if err := x.remove(ctx, p); err != nil {
					return err
				}
			case p.fingerprint == l.fingerprint:
				there[p.from] = true
			}
		}
		x.mu.Lock()
		for at := range there {
			find(standings, at, kindLengths[k]).there = true
			if k == hours && (!l.tables || at > l.last) {
				l.last, l.tables = at, true
			}
		}
		for at, s := range standings {
			if !there[at] {
				s.there = false
			}
			if s.version != "" && !s.there { // somebody removed it
				s.version, s.judged = "", ""
			}
			if !s.there && !x.filed(l, at) && s.failures == 0 {
				delete(standings, at)
			}
		}
		x.mu.Unlock()
	}
	return nil
}

// expired says whether a table was kept long enough.
func (x *Exact) expired(l *ledger, p place) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	_, known := x.newest(l)
	return known && p.from+kindLengths[p.kind] <= x.oldest(l)
}

func (x *Exact) remove(ctx context.Context, p place) error {
	for _, path := range []string{p.list(), p.table()} {
		if err := x.Store.Delete(ctx, path); err != nil {
			return err
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stats.Removed++
	return nil
}

// fail tells once that tables cannot be made, or with nil that they can be again.
func (x *Exact) fail(err error, what string, fields ...zap.Field) {
	failing := err != nil
	x.mu.Lock()
	before := x.failing
	x.failing = failing
	x.mu.Unlock()
	if failing == before {
		return
	}
	if failing {
		x.Logger.Error(what, append(fields, zap.Error(err))...)
	} else {
		x.Logger.Info(what, fields...)
	}
	if x.Report != nil {
		x.Report(err)
	}
}
