package trendreceiver

import (
	"context"
	"time"

	"go.opentelemetry.io/collector/consumer"

	"github.com/otel-topk/collector/internal/board"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire"
)

// maxRequestPoints is about the most points that are sent to a metrics pipeline at once, 1 to 2 MiB.
const maxRequestPoints = 10_000

// gauges writes lists as metrics and remembers which series stand, to end each once.
type gauges struct {
	next   consumer.Metrics
	groups bool                // also lists of other scopes than global
	stand  map[series][]string // keys by rank
	ending map[series]bool     // of stand: the list will not come again
}

// series are those of one list.
type series struct {
	rule   string
	window time.Duration
	group  rule.Group
}

func newGauges(next consumer.Metrics, groups bool) *gauges {
	return &gauges{next: next, groups: groups, stand: map[series][]string{}, ending: map[series]bool{}}
}

// publish sends the points of the changed lists and ends the series of the ended ones. What a failed request was to end is
// ended by the next one.
func (g *gauges) publish(ctx context.Context, now time.Time, changed []board.Published, ended []*wire.Snapshot) (sent int, failures []error) {
	r := newRequest(now)
	send := func() {
		if len(r.lists) == 0 {
			return
		}
		if err := g.next.ConsumeMetrics(ctx, r.points.md); err != nil {
			failures = append(failures, err)
		} else {
			sent += len(r.lists)
			g.commit(r.lists)
		}
		r = newRequest(now)
	}
	for _, p := range changed {
		id := seriesOf(p.Snapshot)
		if !g.groups && id.group.Scope != rule.ScopeGlobal {
			continue
		}
		delete(g.ending, id)
		r.lists[id] = r.points.list(id, p.Snapshot, g.stand[id])
		if r.points.n >= maxRequestPoints {
			send()
		}
	}
	for _, s := range ended {
		if id := seriesOf(s); g.stand[id] != nil {
			g.ending[id] = true
		}
	}
	for id := range g.ending {
		r.points.end(id, g.stand[id])
		r.lists[id] = nil
		if r.points.n >= maxRequestPoints {
			send()
		}
	}
	send()
	return sent, failures
}

// request is what is sent at once.
type request struct {
	points *points
	lists  map[series][]string // keys by rank; nil: ended
}

func newRequest(now time.Time) request {
	return request{newPoints(now), map[series][]string{}}
}

func (g *gauges) commit(lists map[series][]string) {
	for id, keys := range lists {
		if keys == nil {
			delete(g.stand, id)
			delete(g.ending, id)
		} else {
			g.stand[id] = keys
		}
	}
}

func seriesOf(s *wire.Snapshot) series {
	return series{rule: s.Rule.Name, window: s.Window, group: s.Group}
}
