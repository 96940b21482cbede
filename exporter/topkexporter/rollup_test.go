package topkexporter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

// elevenOClock is the hour before noon.
var elevenOClock = window.MinuteOf(noon.UnixNano()) - oneHour

// hourAt is so many hours after the one before noon.
func hourAt(n int) window.Minute { return elevenOClock + window.Minute(n)*oneHour }

// at is the start of an hour in RFC 3339.
func at(hour window.Minute) string { return time.Unix(0, hour.Start()).UTC().Format(time.RFC3339) }

// rollup of what one group counted in an hour, made as soon as that was over.
func rollup(d *rule.Definition, hour window.Minute, g rule.Group, s *topk.Summary) *wire.Rollup {
	return &wire.Rollup{Rule: d, Hour: hour, Group: g, AsOf: time.Unix(0, (hour + oneHour).Start()), Summary: s}
}

// summaryOf counts weights by key.
func summaryOf(t testing.TB, d *rule.Definition, weights map[string]uint64) *topk.Summary {
	s, err := topk.New(d.Residents, d.Shape)
	require.NoError(t, err)
	for _, key := range sortedKeys(weights) {
		require.NoError(t, s.Add(key, weights[key]))
	}
	return s
}

// hourly is the roll-up of the global list with these weights.
func hourly(t testing.TB, d *rule.Definition, hour window.Minute, weights map[string]uint64) *wire.Rollup {
	return rollup(d, hour, rule.Group{}, summaryOf(t, d, weights))
}

// rolled are the records of roll-ups, as they travel.
func rolled(t testing.TB, rollups ...*wire.Rollup) plog.Logs {
	ld := plog.NewLogs()
	for _, r := range rollups {
		_, err := wire.AppendRollup(ld, r)
		require.NoError(t, err)
	}
	return ld
}

// roll gives roll-ups to e.
func roll(t testing.TB, e *topkExporter, rollups ...*wire.Rollup) {
	require.NoError(t, e.consumeLogs(t.Context(), rolled(t, rollups...)))
}

// takeRollups takes what came at now.
func (s *store) takeRollups(t testing.TB, now time.Time, rollups ...*wire.Rollup) tally {
	a := &arrived{}
	for publication, err := range wire.Publications(rolled(t, rollups...)) {
		require.NoError(t, err)
		a.rollups = append(a.rollups, publication.(*wire.Rollup))
	}
	return s.take(t.Context(), a, now)
}

// worldPast are the hours of the morning: of one group, with an overflow, and one of a definition that changed.
func worldPast(t testing.TB) []*wire.Rollup {
	d := tenants(t, grouped)
	old := tenants(t, grouped, func(d *rule.Definition) { d.Weight = "bytes" })
	rollups := []*wire.Rollup{hourly(t, old, hourAt(-4), map[string]uint64{"tenant-001": 9000})}
	for n := range 3 {
		all := empty(t, d)
		for _, of := range []*wire.Rollup{
			rollup(d, hourAt(n-2), group("eu"), summaryOf(t, d, map[string]uint64{"tenant-001": 7, "": 3})),
			rollup(d, hourAt(n-2), rule.Group{Scope: rule.ScopeMissing}, zipf(t, d, 2000*(n+1))),
			rollup(d, hourAt(n-2), rule.Group{Scope: rule.ScopeOverflow}, summaryOf(t, d, map[string]uint64{"tenant-002": 5})),
			rollup(d, hourAt(n-2), rule.Group{}, all),
		} {
			if of.Summary != all {
				require.NoError(t, all.Merge(of.Summary))
			}
			of.Summary.Flatten()
			rollups = append(rollups, of)
		}
	}
	for _, r := range rollups[len(rollups)-4:] {
		r.PartialReasons = []string{"silent_shards"}
	}
	return rollups
}
