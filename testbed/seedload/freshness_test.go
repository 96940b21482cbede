package seedload

import (
	"context"
	"slices"
	"time"
)

// markers are when marked records were first seen in a list at a reader.
type markers struct{ seen map[string]time.Time }

// watch the list of markers until ctx ends.
func (m *markers) watch(ctx context.Context, readers *pair) {
	m.seen = make(map[string]time.Time)
	for ctx.Err() == nil {
		if list := readers.list(ctx, "rule=markers&window=5m&k=500"); list != nil {
			now := time.Now()
			for _, item := range list.Items {
				if _, ok := m.seen[item.Key]; !ok {
					m.seen[item.Key] = now
				}
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// span of time in which a process was killed and came back.
type span struct{ from, to time.Time }

// settling is how long a fault may be felt after all are back.
const settling = 15 * time.Second

// delays from a marked record's time to the list, sorted: of those whose way fell into a fault, and of the others.
type delays struct {
	inside, outside []time.Duration
	missing         int // never seen
}

func (m *markers) delays(requests []*request, faults []span) (d delays) {
	for _, r := range requests {
		if r.marker == "" {
			continue
		}
		seen, ok := m.seen[r.marker]
		hit := func(f span) bool { return seen.After(f.from) && r.due.Before(f.to.Add(settling)) }
		switch {
		case !ok:
			d.missing++
		case slices.ContainsFunc(faults, hit):
			d.inside = append(d.inside, seen.Sub(r.due))
		default:
			d.outside = append(d.outside, seen.Sub(r.due))
		}
	}
	slices.Sort(d.inside)
	slices.Sort(d.outside)
	return d
}

// quantile of sorted durations; 0 of none.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
