package exact

import (
	"cmp"
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/otel-topk/collector/internal/archive"
)

// run closes hours until ctx ends.
func (x *Exact) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		timer.Reset(x.turn(ctx).Sub(x.Now()))
	}
}

// turn looks at the archive and closes what is to be closed, the newest first, one at a time. It returns when the next turn is due.
func (x *Exact) turn(ctx context.Context) (next time.Time) {
	next = x.Now().Add(x.every)
	if err := x.look(ctx, x.turns%fullEvery == 0); err == nil {
		x.turns++
		x.close(ctx, next)
	} else if ctx.Err() == nil {
		x.fail(err, "The archive cannot be listed: hours are not closed")
	}
	return next
}

// task is an hour or a day that is to be judged, and made if there is no right table of it.
type task struct {
	ledger *ledger
	kind   kind
	from   archive.Hour
}

// close what is closed and not counted yet, until it is time to look again.
func (x *Exact) close(ctx context.Context, until time.Time) {
	tasks := x.plan(x.Now())
	failed := false
	for i, t := range tasks {
		if ctx.Err() != nil || i > 0 && !x.Now().Before(until) {
			return
		}
		failed = x.do(ctx, t) != nil || failed
		day := task{t.ledger, days, t.from.Day()}
		if t.kind == hours && x.wanting(day, x.Now()) {
			failed = x.do(ctx, day) != nil || failed
		}
	}
	for _, l := range x.ledgers {
		if ctx.Err() == nil {
			failed = x.do(ctx, task{ledger: l, kind: all}) != nil || failed
		}
	}
	if !failed && !x.waits() && ctx.Err() == nil {
		x.fail(nil, "Hours are closed again")
	}
	x.auditAll(ctx)
}

// waits says whether something failed and is to be tried again.
func (x *Exact) waits() bool {
	for _, l := range x.ledgers {
		for _, standings := range []map[archive.Hour]*standing{l.hours, l.days, {0: &l.all}} {
			for _, s := range standings {
				if s.failures > 0 {
					return true
				}
			}
		}
	}
	return false
}

// plan what is to be done, the newest first, a day before its hours.
func (x *Exact) plan(now time.Time) []task {
	x.forget()
	var tasks []task
	waiting := 0
	for _, l := range x.ledgers {
		seen := map[archive.Hour]bool{}
		add := func(at archive.Hour) {
			if t := (task{l, hours, at}); !seen[at] {
				seen[at] = true
				if x.open(t, now) {
					waiting++
				}
				if x.wanting(t, now) {
					tasks = append(tasks, t)
				}
			}
		}
		for _, signal := range l.d.Signals {
			for at := range x.signals[signal].hours {
				for hour := at - l.reach; hour <= at; hour++ {
					add(hour)
				}
			}
		}
		for at := range l.hours {
			add(at)
		}
		seenDays := map[archive.Hour]bool{}
		for at := range seen {
			t := task{l, days, at.Day()}
			if !seenDays[t.from] && x.wanting(t, now) {
				tasks = append(tasks, t)
			}
			seenDays[t.from] = true
		}
	}
	x.mu.Lock()
	x.stats.Waiting = int64(waiting)
	x.mu.Unlock()
	slices.SortFunc(tasks, func(a, b task) int {
		return cmp.Or(
			cmp.Compare(b.from+kindLengths[b.kind], a.from+kindLengths[a.kind]),
			cmp.Compare(b.kind, a.kind),
			cmp.Compare(a.ledger.d.Name, b.ledger.d.Name),
		)
	})
	return tasks
}

// open says whether an hour is closed and has no right table.
func (x *Exact) open(t task, now time.Time) bool {
	return t.from >= x.oldest(t.ledger) && x.closed(t.ledger, t.from, kindLengths[t.kind], now) &&
		x.counts(t.ledger, t.from) && !x.right(t.ledger, t.from)
}

// wanting says whether t is to be done now.
func (x *Exact) wanting(t task, now time.Time) bool {
	l := t.ledger
	if t.kind == hours {
		s := l.hours[t.from]
		return x.open(t, now) && (s == nil || s.judged == "" || x.settled(l, t.from, now)) && (s == nil || !now.Before(s.ready))
	}
	if t.from < x.oldest(l) || !x.closed(l, t.from, oneDay, now) {
		return false
	}
	parts, ok := x.parts(l, t.from)
	s := l.days[t.from]
	return ok && (s == nil || s.judged != digestParts(parts) && !now.Before(s.ready))
}

// do judges what is there, and makes what is not right. What fails is tried again later, and later each time; what took long is not
// made again before ten times as long.
func (x *Exact) do(ctx context.Context, t task) error {
	began := x.Now()
	s, made, err := x.doNow(ctx, t)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		x.mu.Lock()
		s.failures++
		s.ready = x.Now().Add(min(time.Minute<<min(s.failures-1, 10), time.Hour))
		x.stats.Failed++
		x.mu.Unlock()
		x.fail(err, "An hour cannot be counted exactly; it is tried again",
			zap.String("rule", t.ledger.d.Name), zap.String("table", kindNames[t.kind]), zap.Stringer("from", t.from))
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	s.failures = 0
	if t.kind == hours {
		x.stats.Waiting--
	}
	if made {
		x.stats.Made++
		s.ready = x.Now().Add(10 * x.Now().Sub(began))
	}
	return nil
}

func (x *Exact) doNow(ctx context.Context, t task) (s *standing, made bool, err error) {
	x.mu.Lock()
	switch t.kind {
	case hours:
		s = t.ledger.hour(t.from)
	case days:
		s = t.ledger.day(t.from)
	default:
		s = &t.ledger.all
	}
	x.mu.Unlock()
	switch t.kind {
	case hours:
		made, err = x.doHour(ctx, t.ledger, t.from, s)
	case days:
		made, err = x.doDay(ctx, t.ledger, t.from, s)
	default:
		made, err = x.doAll(ctx, t.ledger, s)
	}
	return s, made, err
}
