package exact

import (
	"time"

	"go.uber.org/zap"

	"github.com/otel-topk/collector/internal/archive"
)

const (
	// servedWithin is how long an hour is closed and archived before nothing comes of it any more: what was served comes a minute
	// after an hour, and history that is replayed comes in some minutes.
	servedWithin = 10 * time.Minute
	// oldNews is how long an hour is archived before it is too late to say that nothing was served of it, where that was before all
	// that is kept.
	oldNews = 12 * time.Hour
	// carried is how long before the start an hour ended whose records were not on their way then: longer than lateness allows.
	carried = 2 * time.Hour
)

// span of hours.
type span struct{ from, to archive.Hour }

func (s *span) include(from, to archive.Hour) {
	if s.from == s.to {
		*s = span{from, to}
		return
	}
	s.from, s.to = min(s.from, from), max(s.to, to)
}

// unserved says whether something was archived of an hour, or of a day, and nothing was served where it ought to have been: after
// an hour of which something was, in an hour that began after the start, or of records that all came after it.
func (x *Exact) unserved(l *ledger, s *standing, served *ServedGroups, known *Audit) bool {
	switch now := x.Now(); {
	case s.total == 0, len(served.Groups) > 0, served.Other, served.Gone, known != nil && !known.Unserved:
		return false
	case known != nil:
		return true
	case s.to-s.from > 1:
		return x.unservedDay(l, s)
	default:
		seen := x.seen(l, s.from)
		if seen.IsZero() || now.Sub(seen) < servedWithin || now.Sub((s.to+l.reach).Start().Add(x.Grace)) < servedWithin {
			return false
		}
		fresh := !s.from.Start().Before(x.began) || seen.After(x.began) && s.to.Start().Add(carried).Before(x.began)
		return served.Expected || fresh && now.Sub(seen) < oldNews
	}
}

// seen is when a file of an hour was first there; zero: none is.
func (x *Exact) seen(l *ledger, at archive.Hour) (seen time.Time) {
	for _, signal := range l.d.Signals {
		if f := x.signals[signal].hours[at]; f != nil && (seen.IsZero() || f.seen.Before(seen)) {
			seen = f.seen
		}
	}
	return seen
}

// unservedDay says whether every hour of a day that has a table was found to be unserved.
func (x *Exact) unservedDay(l *ledger, s *standing) bool {
	for at := s.from; at < s.to; at++ {
		if hour := l.hours[at]; hour != nil && hour.version != "" && !x.foundUnserved(l, hour) {
			return false
		}
	}
	return true
}

func (x *Exact) foundUnserved(l *ledger, hour *standing) bool {
	a := x.audits.get(auditKey(l, hour))
	return a != nil && a.Unserved
}

// tellUnserved warns of hours that were found since it was last told.
func (x *Exact) tellUnserved() {
	for name, l := range x.ledgers {
		if l.unserved > 0 {
			x.Logger.Warn("Hours were archived and nothing of them was served; /v1/audits names them: their records came too late to be counted, or no list of the rule reaches this exporter",
				zap.String("rule", name), zap.Int("hours", l.unserved))
		}
		l.unserved = 0
	}
}

// noteLag notes how far the newest audit of an hour is behind the newest hour that is to be audited.
func (x *Exact) noteLag(l *ledger) {
	var lag time.Duration
	if l.due.from < l.due.to {
		lag = l.due.to.Start().Sub(max(l.due.from, min(x.audits.newest(l), l.due.to)).Start())
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	l.lag = lag
}

// newest is the end of the newest hour of l that was audited; 0: none was.
func (s *audits) newest(l *ledger) (end archive.Hour) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.known {
		if a.Rule == l.d.Name && a.Fingerprint == l.fingerprint && a.To-a.From == 1 {
			end = max(end, a.To)
		}
	}
	return end
}

// Auditing is how complete the audits of a rule are.
type Auditing struct {
	Unserved int           // hours that were found, in the last 24 hours, to be archived and not served
	Lag      time.Duration // of the newest audited hour behind the newest that is to be audited
}

// Auditing of the local rules, by name.
func (x *Exact) Auditing() map[string]Auditing {
	x.mu.RLock()
	defer x.mu.RUnlock()
	states := map[string]Auditing{}
	for name, l := range x.ledgers {
		states[name] = Auditing{Lag: l.lag}
	}
	now := x.Now()
	x.audits.mu.Lock()
	defer x.audits.mu.Unlock()
	for _, a := range x.audits.known {
		if l := x.ledgers[a.Rule]; l != nil && a.Unserved && a.Fingerprint == l.fingerprint && a.To-a.From == 1 && now.Sub(a.At) < 24*time.Hour {
			state := states[a.Rule]
			state.Unserved++
			states[a.Rule] = state
		}
	}
	return states
}
