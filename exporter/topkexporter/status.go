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
	Windows  []windowState `json:"windows"` // the global lists
}

// historyState is what is kept of the past.
type historyState struct {
	Hours int     `json:"hours"` // of which something is kept
	From  *string `json:"from"`  // the first of them begins; null: none is kept
	To    *string `json:"to"`    // the last of them ends
	Bytes int64   `json:"bytes"` // in storage
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
func (c *catalog) status(rawQuery string, now time.Time, s *store) (*answer, error) {
	if _, err := parameters(rawQuery, nil); err != nil {
		return nil, err
	}
	a := statusAnswer{
		Now: utc(now), Rules: len(c.names), Lists: c.lists, MaxLists: s.maxLists, Storage: s.storage.state(), History: s.history.state(),
		Windows: []windowState{},
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
