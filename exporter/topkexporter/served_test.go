package topkexporter

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otel-topk/collector/exporter/topkexporter/internal/exact"
	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
)

// What is kept says of an hour without a list whether one was to be expected.
func TestWhatWasServedSaysWhyAnHourHasNone(t *testing.T) {
	e := shelf(t)
	d := tenants(t, grouped)
	changed := *d
	changed.GroupBy = ""
	at := hourOf(elevenOClock)
	groups := func(d *rule.Definition, hour archive.Hour) exact.ServedGroups {
		served := servedHistory{e.store}.Groups(d, hour, hour+1)
		served.Version = 0
		return served
	}
	assert.Zero(t, groups(d, at), "nothing of the rule is kept")
	roll(t, e, rollup(d, elevenOClock, rule.Group{}, zipf(t, d, 10)))
	assert.Equal(t, exact.ServedGroups{Groups: []rule.Group{{}}, Hours: map[archive.Hour]bool{at: true}}, groups(d, at))
	assert.Equal(t, exact.ServedGroups{Other: true}, groups(&changed, at))
	assert.Equal(t, exact.ServedGroups{Expected: true}, groups(d, at+1))
	assert.Equal(t, exact.ServedGroups{Expected: true}, groups(&changed, at+1), "by whatever definition")
	assert.Zero(t, groups(d, at-1), "before all that is kept")

	roll(t, e, rollup(d, elevenOClock-oneHour, rule.Group{}, zipf(t, d, 10)))
	e.store.history.mu.Lock()
	e.store.history.giveUp(func(h *hour) bool { return h.start == elevenOClock })
	e.store.history.mu.Unlock()
	assert.Equal(t, exact.ServedGroups{Gone: true}, groups(d, at), "it was served, and is kept no more")
	assert.Equal(t, exact.ServedGroups{Expected: true}, groups(d, at+1))
}
