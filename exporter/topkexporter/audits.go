package topkexporter

import (
	"net/url"
	"strconv"
	"time"

	"github.com/otel-topk/collector/exporter/topkexporter/internal/exact"
	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
)

var auditParameters = []string{"limit", "rule", "window"}

const (
	defaultAudits = 24
	mostAudits    = 1000
)

// auditsAnswer is the answer of /v1/audits: the newest first.
type auditsAnswer struct {
	Audits []auditEntry `json:"audits"`
}

// auditEntry is how the lists of a rule and hour, or day, were served against what is exact.
type auditEntry struct {
	Rule           string         `json:"rule"`
	Window         string         `json:"window"`
	WindowStart    *string        `json:"window_start"`
	WindowEnd      *string        `json:"window_end"`
	AuditedAt      *string        `json:"audited_at"`
	Fingerprint    string         `json:"fingerprint"`
	Served         bool           `json:"served"` // something was
	Lists          int            `json:"lists"`
	Disagreeing    int            `json:"disagreeing_lists"`
	Agreement      float64        `json:"agreement"`
	BoundsHeld     bool           `json:"bounds_held"`
	Certified      bool           `json:"certified"`
	LargestError   uint64         `json:"largest_error"`
	LargestBound   uint64         `json:"largest_error_bound"`
	Partial        bool           `json:"partial"`
	PartialReasons []string       `json:"partial_reasons"` // of what was served
	Global         auditedList    `json:"global"`
	Worst          []auditedGroup `json:"worst_groups"`
}

// auditedList is one list.
type auditedList struct {
	Agreement    float64 `json:"agreement"`
	BoundsHeld   bool    `json:"bounds_held"`
	Certified    bool    `json:"certified"`
	LargestError uint64  `json:"largest_error"`
	LargestBound uint64  `json:"largest_error_bound"`
	Total        uint64  `json:"total"`
	ServedTotal  uint64  `json:"served_total"`
}

type auditedGroup struct {
	Scope string  `json:"scope"`
	Group *string `json:"group"`
	auditedList
}

// audits answers /v1/audits.
func (h *handler) audits(rawQuery string) (*answer, error) {
	q, err := parameters(rawQuery, auditParameters)
	if err != nil {
		return nil, err
	}
	if h.recounts == nil || h.recounts.exact == nil {
		return nil, notFound("audits hold what was served against an archive; this exporter has no recount section")
	}
	name, length, most, err := h.auditsAsked(q)
	if err != nil {
		return nil, err
	}
	a := auditsAnswer{Audits: []auditEntry{}}
	for _, audit := range h.recounts.exact.Audits(name, length, most) {
		a.Audits = append(a.Audits, newAuditEntry(audit))
	}
	return newJSON(a, cacheNothing), nil
}

func (h *handler) auditsAsked(q url.Values) (name string, length archive.Hour, most int, err error) {
	if name = q.Get("rule"); q.Has("rule") && h.recounts.rules[name] == nil {
		return name, 0, 0, notFound("rule: %q is not among recount.rules; they are: %s", name, named(h.recounts.names))
	}
	if q.Has("window") {
		asked, err := window.Parse(q.Get("window"))
		if err != nil || asked != time.Hour && asked != 24*time.Hour {
			return name, 0, 0, badRequest("window: %q is not audited; allowed: 1h, 24h", q.Get("window"))
		}
		length = archive.Hour(asked / time.Hour)
	}
	most = defaultAudits
	if q.Has("limit") {
		if most, err = strconv.Atoi(q.Get("limit")); err != nil || most < 1 || most > mostAudits {
			return name, 0, 0, badRequest("limit: %q is not allowed; allowed: whole numbers from 1 to %d", q.Get("limit"), mostAudits)
		}
	}
	return name, length, most, nil
}

// windowOf is the window of an audit.
func windowOf(a *exact.Audit) string { return window.Name(time.Duration(a.To-a.From) * time.Hour) }

func newAuditEntry(a *exact.Audit) auditEntry {
	e := auditEntry{
		Rule: a.Rule, Window: windowOf(a), WindowStart: utc(a.From.Start()), WindowEnd: utc(a.To.Start()), AuditedAt: utc(a.At),
		Fingerprint: a.Fingerprint, Served: !a.Unserved, Lists: a.Lists, Disagreeing: a.Disagreeing, Agreement: a.Agreement, BoundsHeld: a.BoundsHeld, Certified: a.Certified,
		LargestError: a.Error, LargestBound: a.ErrorBound, Partial: len(a.Reasons) > 0, PartialReasons: filled(a.Reasons),
		Global: newAuditedList(&a.Global), Worst: []auditedGroup{},
	}
	for i := range a.Worst {
		worst := &a.Worst[i]
		g := auditedGroup{Scope: worst.Group.Scope.String(), auditedList: newAuditedList(worst)}
		if worst.Group.Scope == rule.ScopeGroup {
			g.Group = &worst.Group.Name
		}
		e.Worst = append(e.Worst, g)
	}
	return e
}

func newAuditedList(c *exact.Compared) auditedList {
	return auditedList{c.Agreement, c.BoundsHeld, c.Certified, c.Error, c.ErrorBound, c.Total, c.Served}
}
