package topkexporter

import (
	"maps"
	"slices"
	"time"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
)

// statusAnswer is the answer of /v1/status: how fresh and complete the lists are.
type statusAnswer struct {
	Now      *string       `json:"now"`
	AsOf     *string       `json:"as_of"` // of the newest list; null: none
	Rules    int           `json:"rules"`
	Lists    int           `json:"lists"`
	MaxLists int           `json:"max_lists"`
	Storage  string        `json:"storage"` // none, up, failing
	History  historyState  `json:"history"`
	Recounts *recountState `json:"recounts"` // null: there are none
	Exact    *exactState   `json:"exact"`    // null: nothing is counted exactly
	Windows  []windowState `json:"windows"`  // the global lists
}

// historyState is what is kept of the past.
type historyState struct {
	Hours int     `json:"hours"` // of which something is kept
	From  *string `json:"from"`  // the first of them begins; null: none is kept
	To    *string `json:"to"`    // the last of them ends
	Bytes int64   `json:"bytes"` // in storage
}

// recountState is how many recounts there are.
type recountState struct {
	Running int `json:"running"`
	Waiting int `json:"waiting"`
	Ended   int `json:"ended"` // that are kept
}

// exactState is how far closed hours are counted and audited.
type exactState struct {
	Waiting  int64 `json:"waiting"`           // closed hours, of each rule, that are not counted exactly yet
	Lag      int64 `json:"audit_lag_seconds"` // of the newest audited hour behind the newest that is to be, of the rule where it is most
	Unserved int   `json:"unserved"`          // hours, of each rule, that were archived and not served, found in the last 24 hours
}

func (r *recounting) exactState() *exactState {
	if r == nil || r.exact == nil {
		return nil
	}
	s := exactState{Waiting: r.exact.Stats().Waiting}
	for _, a := range r.exact.Auditing() {
		s.Lag = max(s.Lag, int64(a.Lag.Seconds()))
		s.Unserved += a.Unserved
	}
	return &s
}

type windowState struct {
	Rule           string   `json:"rule"`
	Window         string   `json:"window"`
	WindowStart    *string  `json:"window_start"`
	AsOf           *string  `json:"as_of"`
	Partial        bool     `json:"partial"`
	PartialReasons []string `json:"partial_reasons"`
	Records        uint64   `json:"records"`
	Coverage       coverage `json:"coverage"`
}

// status answers /v1/status.
func (c *catalog) status(rawQuery string, now time.Time, s *store, r *recounting) (*answer, error) {
	if _, err := parameters(rawQuery, nil); err != nil {
		return nil, err
	}
	a := statusAnswer{
		Now: utc(now), Rules: len(c.names), Lists: c.lists, MaxLists: s.maxLists, Storage: s.storage.state(), History: s.history.state(),
		Exact: r.exactState(), Windows: []windowState{},
	}
	if r != nil {
		jobs := r.queue.State()
		a.Recounts = &recountState{jobs.Running, jobs.Waiting, jobs.Ended}
	}
	var newest time.Time
	for _, name := range c.names {
		r := c.rules[name]
		if r.newest.After(newest) {
			newest = r.newest
		}
		for _, w := range r.windows {
			if l := r.lists[listID{w, rule.Group{}}]; l != nil {
				a.Windows = append(a.Windows, newWindowState(l))
			}
		}
	}
	a.AsOf = utc(newest)
	return newJSON(a, cacheNothing), nil
}

func newWindowState(l *list) windowState {
	return windowState{
		Rule:           l.Rule.Name,
		Window:         window.Name(l.Window),
		WindowStart:    utc(l.WindowStart),
		AsOf:           utc(l.AsOf),
		Partial:        len(l.PartialReasons) > 0,
		PartialReasons: filled(l.PartialReasons),
		Records:        l.Records,
		Coverage:       newCoverage(&l.Coverage),
	}
}

func (h *history) state() historyState {
	h.mu.RLock()
	defer h.mu.RUnlock()
	hours := map[window.Minute]struct{}{}
	for _, past := range h.rules {
		for _, e := range past.eras {
			for _, at := range e.hours {
				hours[at.start] = struct{}{}
			}
		}
	}
	s := historyState{Hours: len(hours), Bytes: h.bytes}
	if len(hours) > 0 {
		all := slices.Sorted(maps.Keys(hours))
		s.From = utc(time.Unix(0, all[0].Start()))
		s.To = utc(time.Unix(0, (all[len(all)-1] + oneHour).Start()))
	}
	return s
}
