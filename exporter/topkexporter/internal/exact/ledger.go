package exact

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/table"
)

// Hours around an hour whose files may hold what counts in it, of rules over the starts or the events of spans: spans end up to a
// day later, and events come up to a day after their span.
const (
	hoursAfter  = 24
	hoursBefore = 24
)

// ledger is what is known of the tables of one rule.
type ledger struct {
	rule        *rule.Rule
	d           *rule.Definition
	fingerprint string
	reach       archive.Hour // how many later hours hold records of an hour
	before      archive.Hour // and how many earlier ones
	hours       map[archive.Hour]*standing
	days        map[archive.Hour]*standing
	all         standing
	last        archive.Hour  // that has a table, as they were last listed
	tables      bool          // there are some
	due         span          // hours that are to be audited, as they were last looked through
	unserved    int           // hours that were found so, and not told yet
	lag         time.Duration // of audits
}

// standing says whether a table is there and right.
type standing struct {
	there   bool   // a table is in the archive, as it was last listed
	judged  string // what it was last judged by: the digest of its files or of its parts
	version string // of the table that is right by that; "": none is
	leftOut bool   // files are missing from it
	total   uint64 // weight of its global list
	from    archive.Hour
	to      archive.Hour
	served  uint64 // version of what was served, as it was last looked at

	failures int
	ready    time.Time // when it may be made again
}

func newLedger(r *rule.Rule) *ledger {
	d := r.Definition()
	l := &ledger{rule: r, d: d, fingerprint: d.Fingerprint(), hours: map[archive.Hour]*standing{}, days: map[archive.Hour]*standing{}}
	if r.Early(rule.SignalTraces) {
		l.reach, l.before = hoursAfter, hoursBefore
	}
	return l
}

func (l *ledger) place(k kind, from archive.Hour) place {
	return place{kind: k, rule: l.d.Name, fingerprint: l.fingerprint, from: from}
}

// hour finds or adds the standing of an hour.
func (l *ledger) hour(at archive.Hour) *standing { return find(l.hours, at, 1) }

// day is the same of the day that begins at at.
func (l *ledger) day(at archive.Hour) *standing { return find(l.days, at, oneDay) }

func find(standings map[archive.Hour]*standing, at, length archive.Hour) *standing {
	s := standings[at]
	if s == nil {
		s = &standing{from: at, to: at + length}
		standings[at] = s
	}
	return s
}

// files of the records of an hour.
func (x *Exact) files(l *ledger, at archive.Hour) []archive.File {
	var files []archive.File
	for _, signal := range l.d.Signals {
		s := x.signals[signal]
		for hour := at - l.before; hour <= at+l.reach; hour++ {
			if f := s.hours[hour]; f != nil {
				files = append(files, f.files...)
			}
		}
	}
	return files
}

// digest stands for the files of an hour; "" where it has none of its own.
func (x *Exact) digest(l *ledger, at archive.Hour) string {
	if !x.filed(l, at) {
		return ""
	}
	if len(l.d.Signals) == 1 && l.reach == 0 {
		return x.signals[l.d.Signals[0]].hours[at].digest
	}
	return digestFiles(x.files(l, at))
}

// filed says whether the archive has a file of an hour.
func (x *Exact) filed(l *ledger, at archive.Hour) bool {
	for _, signal := range l.d.Signals {
		if f := x.signals[signal].hours[at]; f != nil && len(f.files) > 0 {
			return true
		}
	}
	return l.reach > 0 && len(x.files(l, at)) > 0
}

// settled says whether the files of an hour have not changed for a while.
func (x *Exact) settled(l *ledger, at archive.Hour, now time.Time) bool {
	for _, signal := range l.d.Signals {
		for hour := at - l.before; hour <= at+l.reach; hour++ {
			f := x.signals[signal].hours[hour]
			if f != nil && now.Sub(f.changed) < x.settle && now.Sub(f.began) < longestSettle {
				return false
			}
		}
	}
	return true
}

// closed says whether length hours, of which at is the first, are over since long enough.
func (x *Exact) closed(l *ledger, at, length archive.Hour, now time.Time) bool {
	return !now.Before((at + length + l.reach).Start().Add(x.Grace))
}

// right says whether the table of an hour is that of its files as they were last listed.
func (x *Exact) right(l *ledger, at archive.Hour) bool {
	s := l.hours[at]
	return s != nil && s.version != "" && s.judged == x.digest(l, at)
}

// counts says whether an hour has to have a table: it has files, or had some once.
func (x *Exact) counts(l *ledger, at archive.Hour) bool {
	s := l.hours[at]
	return x.filed(l, at) || s != nil && s.there
}

// newest is the last hour that the archive has of the signals of l, or of which a table is kept; known is false where there is none.
func (x *Exact) newest(l *ledger) (at archive.Hour, known bool) {
	if l.tables {
		at, known = l.last, true
	}
	for _, signal := range l.d.Signals {
		if s := x.signals[signal]; len(s.hours) > 0 {
			at, known = max(at, s.newest), true
		}
	}
	return at, known
}

// oldest is the first hour that is kept: the beginning of the day that lies Keep before the newest hour of the archive. So history
// that is replayed is kept as long as what is counted now.
func (x *Exact) oldest(l *ledger) archive.Hour {
	at, _ := x.newest(l)
	return (at + 1 - archive.Hour(x.Keep/time.Hour)).Day()
}

// parts of a day, or ok is false where one is not right or the day is empty.
func (x *Exact) parts(l *ledger, day archive.Hour) (parts []table.Part, ok bool) {
	for at := day; at < day+oneDay; at++ {
		switch {
		case !x.counts(l, at):
		case !x.right(l, at):
			return nil, false
		default:
			parts = append(parts, table.Part{From: at, To: at + 1, Version: l.hours[at].version})
		}
	}
	return parts, len(parts) > 0
}

// digestParts stands for tables that are merged.
func digestParts(parts []table.Part) string {
	hash := sha256.New()
	for _, p := range parts {
		_, _ = fmt.Fprintf(hash, "%d %d %s\n", p.From, p.To, p.Version)
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}
