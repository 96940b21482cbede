package topkexporter

import (
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
	Windows  []windowState `json:"windows"` // the global lists
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
func (c *catalog) status(rawQuery string, now time.Time, maxLists int) (*answer, error) {
	if _, err := parameters(rawQuery, nil); err != nil {
		return nil, err
	}
	a := statusAnswer{Now: utc(now), Rules: len(c.names), Lists: c.lists, MaxLists: maxLists, Windows: []windowState{}}
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
