package exact

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/depot"
	"github.com/otel-topk/collector/internal/rule"
)

// AuditPrefix stands before the keys of audits in storage. FORMAT.md of the exporter specifies the values.
const AuditPrefix = "audit/"

const (
	// mostAudits are kept, the newest.
	mostAudits = 10_000
	// mostWorst lists of an audit are kept by name.
	mostWorst = 10
)

// Audit is how the lists of one rule and hour, or day, were served against what is exact.
type Audit struct {
	Rule          string
	Fingerprint   string
	From, To      archive.Hour
	At            time.Time
	Exact         string  // version of the table
	ServedVersion uint64  // of what was served
	ServedHours   int     // of it
	Lists         int     // that were compared
	Disagreeing   int     // of them
	Agreement     float64 // the least
	BoundsHeld    bool    // of all
	Certified     bool    // all
	Error         uint64  // the largest
	ErrorBound    uint64  // the largest
	Reasons       []string
	Unserved      bool       // nothing was served of it
	LeftOut       bool       // damaged or foreign files are missing from what is exact
	Global        Compared   // the global list
	Worst         []Compared // of the groups, those that disagree most
}

// Agrees says whether the first 10 of every list were served, within their bounds.
func (a *Audit) Agrees() bool { return a.Disagreeing == 0 }

func (c *Compared) agrees() bool { return c.Agreement >= 1 && c.BoundsHeld }

func (a *Audit) add(c Compared, reasons []string) {
	a.Lists++
	a.Agreement = min(a.Agreement, c.Agreement)
	a.BoundsHeld = a.BoundsHeld && c.BoundsHeld
	a.Certified = a.Certified && c.Certified
	a.Error, a.ErrorBound = max(a.Error, c.Error), max(a.ErrorBound, c.ErrorBound)
	for _, reason := range reasons {
		if !slices.Contains(a.Reasons, reason) {
			a.Reasons = append(a.Reasons, reason)
		}
	}
	if c.Group.Scope == rule.ScopeGlobal {
		a.Global = c
	}
	if c.agrees() {
		return
	}
	a.Disagreeing++
	if c.Group.Scope == rule.ScopeGlobal {
		return
	}
	a.Worst = append(a.Worst, c)
	slices.SortStableFunc(a.Worst, func(x, y Compared) int {
		return cmp.Or(cmp.Compare(x.Agreement, y.Agreement), cmp.Compare(y.Total, x.Total))
	})
	a.Worst = a.Worst[:min(len(a.Worst), mostWorst)]
}

// audits that were made, by their keys.
type audits struct {
	storage Storage

	mu    sync.Mutex
	known map[string]*Audit
	sums  map[auditSeries]auditSum
}

// auditSeries are the audits of one rule and length.
type auditSeries struct {
	rule   string
	length archive.Hour
}

type auditSum struct{ done, disagreed int64 }

func (s *audits) init(storage Storage) {
	s.storage = storage
	s.known, s.sums = map[string]*Audit{}, map[auditSeries]auditSum{}
}

func auditKey(l *ledger, s *standing) string { return keyOf(l.d.Name, l.fingerprint, s.from, s.to) }

func keyOf(name, fingerprint string, from, to archive.Hour) string {
	text, _ := json.Marshal([]any{name, fingerprint, from, to}) // cannot fail
	sum := sha256.Sum256(text)
	return AuditPrefix + hex.EncodeToString(sum[:16])
}

func (s *audits) get(key string) *Audit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[key]
}

// put a new audit, in place of the one before. Beyond mostAudits the oldest hour goes.
func (s *audits) put(key string, a *Audit) {
	value, err := json.Marshal(a)
	if err != nil {
		return // cannot be: no NaN, no cycle
	}
	var change depot.Change
	s.mu.Lock()
	series := auditSeries{a.Rule, a.To - a.From}
	sum := s.sums[series]
	sum.done++
	if !a.Agrees() {
		sum.disagreed++
	}
	s.sums[series], s.known[key] = sum, a
	if len(s.known) > mostAudits {
		oldest := key
		for k, o := range s.known {
			if o.From < s.known[oldest].From {
				oldest = k
			}
		}
		delete(s.known, oldest)
		change.Delete(oldest)
	}
	_, kept := s.known[key]
	s.mu.Unlock()
	if kept && change.Set(key, value) != nil {
		return // cannot be: an audit is some kilobytes
	}
	s.storage.Apply(&change)
}

// Restore an audit that was stored under key. False: it is none.
func (x *Exact) Restore(key string, value []byte) bool {
	a := &Audit{}
	if json.Unmarshal(value, a) != nil || keyOf(a.Rule, a.Fingerprint, a.From, a.To) != key {
		return false
	}
	x.audits.mu.Lock()
	defer x.audits.mu.Unlock()
	x.audits.known[key] = a
	return true
}

// Audits of the rule of that name, "" of all, and of that length in hours, 0 of any: the newest first, at most so many.
func (x *Exact) Audits(name string, length archive.Hour, most int) []*Audit {
	x.audits.mu.Lock()
	defer x.audits.mu.Unlock()
	var found []*Audit
	for _, a := range x.audits.known {
		if (name == "" || a.Rule == name) && (length == 0 || a.To-a.From == length) {
			found = append(found, a)
		}
	}
	slices.SortFunc(found, func(a, b *Audit) int {
		return cmp.Or(cmp.Compare(b.To, a.To), cmp.Compare(a.To-a.From, b.To-b.From), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	return found[:min(len(found), most)]
}

// AuditState is the newest audit of a rule and length, and how many there were since the start.
type AuditState struct {
	*Audit
	Done, Disagreed int64
}

// AuditStates of the local rules, sorted by rule and length.
func (x *Exact) AuditStates() []AuditState {
	x.audits.mu.Lock()
	defer x.audits.mu.Unlock()
	newest := map[auditSeries]*Audit{}
	for _, a := range x.audits.known {
		l := x.ledgers[a.Rule]
		series := auditSeries{a.Rule, a.To - a.From}
		if known := newest[series]; l != nil && l.fingerprint == a.Fingerprint && (known == nil || a.From > known.From) {
			newest[series] = a
		}
	}
	var states []AuditState
	for series, a := range newest {
		states = append(states, AuditState{a, x.audits.sums[series].done, x.audits.sums[series].disagreed})
	}
	slices.SortFunc(states, func(a, b AuditState) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.To-a.From, b.To-b.From))
	})
	return states
}
