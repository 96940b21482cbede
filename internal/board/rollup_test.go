package board

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

// hourKey names a rollup.
type hourKey struct {
	hour  window.Minute
	group rule.Group
}

// history is what a reader of all rollups has.
type history map[hourKey]*wire.Rollup

func (h history) take(t testing.TB, rollups []*wire.Rollup) {
	for _, r := range rollups {
		key := hourKey{r.Hour, r.Group}
		if old := h[key]; old != nil && r.AsOf.Before(old.AsOf) {
			t.Fatalf("the rollup of %v is older than the one before", key)
		}
		body, err := wire.EncodeRollup(r)
		require.NoError(t, err)
		var bodies wire.Bodies
		h[key], err = bodies.Rollup(body)
		require.NoError(t, err)
	}
}

// check holds each hour that has closed and is kept against the truth, once its rollups are due.
func (o *oracle) checkHours(t testing.TB, h history, b *Board, newest window.Minute, exact bool) {
	t.Helper()
	hours := map[window.Minute]bool{}
	for key := range o.states {
		hours[window.PartOf(key.minute, window.OneHour).Start] = true
	}
	for hour := range hours {
		part := window.Part{Start: hour, Size: window.OneHour}
		if part.End() > newest || !b.keep.Kept(part, newest) {
			continue
		}
		truths := o.exact(part.Start, part.End()-1)
		require.NotNil(t, h[hourKey{hour, global}], "hour %d", hour)
		require.Equal(t, weight(truths[global]), h[hourKey{hour, global}].Summary.Total())
		for g, truth := range truths {
			if r := h[hourKey{hour, g}]; r != nil {
				checkRollup(t, r.Summary, g, truth)
				if exact {
					require.Equal(t, weight(truth), r.Summary.TotalUpper())
				}
			} else if over := h[hourKey{hour, overflow}]; over != nil {
				bound, err := topk.New(over.Rule.Residents, over.Rule.Shape)
				require.NoError(t, err)
				require.NoError(t, bound.MergeBound(over.Summary))
				checkRollup(t, bound, g, truth)
			} else {
				t.Fatalf("hour %d has no rollup of %v", hour, g)
			}
		}
	}
}

func checkRollup(t testing.TB, s *topk.Summary, g rule.Group, truth map[string]uint64) {
	t.Helper()
	if f := weight(truth); g.Scope != rule.ScopeOverflow && (s.Total() > f || f > s.TotalUpper()) {
		t.Fatalf("the hour's total of %v is %d to %d, true %d", g, s.Total(), s.TotalUpper(), f)
	}
	for key, f := range truth {
		if lower, upper := s.Bounds(key); lower > f || f > upper {
			t.Fatalf("%q of %v is %d to %d, true %d", key, g, lower, upper, f)
		}
	}
}
