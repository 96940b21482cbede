package topkexporter

import (
	"time"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
)

// statusAnswer is the answer of /v1/status: how fresh and complete the lists are.
type statusAnswer struct {
	Now      *time.Time    `json:"now"`
	AsOf     *time.Time    `json:"as_of"` // of the newest list; null: none
	Rules    int           `json:"rules"`
	Lists    int           `json:"lists"`
	MaxLists int           `json:"max_lists"`
	Windows  []windowState `json:"windows"` // the global lists
}

type windowState struct {
	Rule           string     `json:"rule"`
	Window         string     `json:"window"`
	WindowStart    *time.Time `json:"window_start"`
	AsOf           *time.Time `json:"as_of"`
	Partial        bool       `json:"partial"`
	PartialReasons []string   `json:"partial_reasons"`
	Records        uint64     `json:"records"`
	Coverage       coverage   `json:"coverage"`
}

// status answers /v1/status.
func (c *catalog) status(rawQuery string, now time.Time, maxLists int) (*answer, error) {
	if _, err := parameters(rawQuery, nil); err != nil {
		return nil, err
	}
	a := statusAnswer{Now: utc(now), Rules: len(c.names), Lists: c.lists, MaxLists: maxLists, Windows: []windowState{}}
	for _, name := range c.names {
		r := c.rules[name]
		if a.AsOf == nil || r.newest.After(*a.AsOf) {
			a.AsOf = utc(r.newest)
		}
		for _, w := range r.windows {
			if l := r.lists[listID{w, rule.Group{}}]; l != nil {
				a.Windows = append(a.Windows, newWindowState(l))
			}
		}
	}
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
