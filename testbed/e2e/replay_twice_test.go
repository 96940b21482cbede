package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/generator"
	"github.com/otel-topk/collector/testbed/oracle"
)

// What Kafka or a file still has is sent once more, to fresh processes on the event clock: the lists are those of that time, again.
func TestHistoryReplayedGivesTheSameListsAgain(t *testing.T) {
	t.Parallel()
	start := time.Now().Add(-100 * 24 * time.Hour).Truncate(time.Hour)
	var first []oracle.Item
	for turn := range 2 {
		d := startSingle(t, "event", "logs", loadRules)
		l := new(load)
		gen, err := generator.New(generator.Config{Seed: 3, Keys: 400, Exponent: 1.01, Regions: 3})
		require.NoError(t, err)
		for minute := range 90 {
			at := start.Add(time.Duration(minute) * time.Minute)
			ld := gen.Logs(300, at, func(r generator.Record) { l.add(at, r) })
			require.NoError(t, d.into[0].Logs(t.Context(), ld))
		}
		newest := l.tenants.Newest()
		exact := l.tenants.Window(newest.Add(-59*time.Minute), newest, oracle.Global)
		var list *oracle.List // every hour of this history weighs the same: the time says which one it is
		collector.Await(t, func() bool {
			list = d.answers.Find(t, "rule", "tenants", "window", "1h", "k", "100")
			return list != nil && list.AsOf != nil && list.AsOf.Equal(newest) && list.Total == exact.Total
		}, func() string { return fmt.Sprintf("no list of %v: %+v", newest, list) })
		require.NoError(t, list.Law(exact, 100))
		require.NoError(t, list.Same(exact, 100))
		assert.Zero(t, list.Coverage.Late+list.Coverage.Future)
		if turn == 0 {
			first = list.Items
		}
		assert.Equal(t, first, list.Items)
	}
}
