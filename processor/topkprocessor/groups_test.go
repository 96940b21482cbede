package topkprocessor

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
)

const byRegion = `
rules:
  - name: tenants
    key: ['log.attributes["tenant"]']
    group_by: log.attributes["region"]
    max_groups: 10
`

// regionLogs is n records of tenant "<region>-t" for each region, records of all regions in turn.
func regionLogs(at time.Time, n int, regions ...string) plog.Logs {
	ld := plog.NewLogs()
	for range n {
		for _, region := range regions {
			one := tenantLogs(at, region+"-t")
			one.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Attributes().PutStr("region", region)
			one.ResourceLogs().MoveAndAppendTo(ld.ResourceLogs())
		}
	}
	return ld
}

func regions(from, to int) []string {
	var names []string
	for i := from; i < to; i++ {
		names = append(names, fmt.Sprintf("r%02d", i))
	}
	return names
}

// groupsOf a minute as they came, with their totals.
func groupsOf(gw *fakeGateway, m window.Minute) map[rule.Group]uint64 {
	gw.mu.Lock()
	defer gw.mu.Unlock()
	totals := map[rule.Group]uint64{}
	for id, s := range gw.states {
		if id.minute == m {
			totals[id.group] = s.Summary.Total()
		}
	}
	return totals
}

func names(groups map[rule.Group]uint64) []string {
	var names []string
	for g := range groups {
		if g.Scope == rule.ScopeGroup {
			names = append(names, g.Name)
		}
	}
	slices.Sort(names)
	return names
}

func TestGroupsBeyondMaxGroupsCountInOverflow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gw := &fakeGateway{}
		p := startLogs(t, mustParse(t, byRegion), gw, nil)
		now := time.Now()
		require.NoError(t, p.ConsumeLogs(t.Context(), regionLogs(now, 3, regions(0, 40)...)))
		require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(now, "nowhere")))
		stop(t, p)

		got := groupsOf(gw, window.MinuteOf(now.UnixNano()))
		assert.Equal(t, regions(0, 10), names(got))
		assert.EqualValues(t, 90, got[rule.Group{Scope: rule.ScopeOverflow}])
		assert.EqualValues(t, 1, got[rule.Group{Scope: rule.ScopeMissing}])
		assert.EqualValues(t, 90, p.(*logs).counter.ledgers[0].tally.overflowed.Load())
		for id, s := range gw.states {
			assert.Equal(t, 12, s.Groups)
			for _, region := range regions(0, 40) {
				if _, own := got[rule.Group{Scope: rule.ScopeGroup, Name: region}]; own == (id.group.Name == region) {
					_, upper := s.Summary.Bounds(region + "-t")
					if own || id.group.Scope == rule.ScopeOverflow {
						assert.GreaterOrEqual(t, upper, uint64(3), "%v in %v", region, id.group)
					}
				}
			}
		}
	})
}

func TestHeaviestGroupsOfTheMinuteBeforeAreSureOfTheirPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gw := &fakeGateway{}
		p := startLogs(t, mustParse(t, byRegion), gw, nil)
		first := time.Now()
		require.NoError(t, p.ConsumeLogs(t.Context(), regionLogs(first, 1, regions(0, 10)...)))
		require.NoError(t, p.ConsumeLogs(t.Context(), regionLogs(first, 5, regions(5, 10)...)))
		require.NoError(t, p.ConsumeLogs(t.Context(), regionLogs(first, 100, "r99")))
		time.Sleep(time.Minute)
		second := time.Now()
		require.NoError(t, p.ConsumeLogs(t.Context(), regionLogs(second, 1, regions(20, 40)...)))
		require.NoError(t, p.ConsumeLogs(t.Context(), regionLogs(second, 1, regions(0, 10)...)))
		stop(t, p)

		assert.Equal(t, regions(0, 10), names(groupsOf(gw, window.MinuteOf(first.UnixNano()))))
		assert.Equal(t, append(regions(5, 10), regions(20, 25)...), names(groupsOf(gw, window.MinuteOf(second.UnixNano()))))
		total := uint64(0)
		for n := range maps.Values(groupsOf(gw, window.MinuteOf(second.UnixNano()))) {
			total += n
		}
		assert.EqualValues(t, 30, total)
	})
}

func TestGroupNamedLikeAScopeIsAGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gw := &fakeGateway{}
		p := startLogs(t, mustParse(t, byRegion), gw, nil)
		now := time.Now()
		require.NoError(t, p.ConsumeLogs(t.Context(), regionLogs(now, 1, "overflow", "missing", "global", "")))
		stop(t, p)
		assert.Equal(t, []string{"", "global", "missing", "overflow"}, names(groupsOf(gw, window.MinuteOf(now.UnixNano()))))
	})
}

func TestOneGroupOfCountlessKeysLeavesTheListsOfTheOthersAsTheyAre(t *testing.T) { // L5
	lists := func(noisy int) map[rule.Group][]byte {
		encoded := map[rule.Group][]byte{}
		synctest.Test(t, func(t *testing.T) {
			gw := &fakeGateway{newestOnly: true}
			p := startLogs(t, mustParse(t, byRegion), gw, nil)
			key := 0
			for range 100 {
				require.NoError(t, p.ConsumeLogs(t.Context(), regionLogs(time.Now(), 3, regions(0, 5)...)))
				ld := plog.NewLogs()
				for range noisy {
					key++
					tenantLogs(time.Now(), fmt.Sprint("k", key)).ResourceLogs().MoveAndAppendTo(ld.ResourceLogs())
				}
				for _, rl := range ld.ResourceLogs().All() {
					rl.ScopeLogs().At(0).LogRecords().At(0).Attributes().PutStr("region", "noisy")
				}
				require.NoError(t, p.ConsumeLogs(t.Context(), ld))
			}
			stop(t, p)
			for id, s := range gw.states {
				encoded[id.group] = s.Encoded
			}
		})
		return encoded
	}
	quiet, loud := lists(0), lists(1000)
	require.Len(t, quiet, 5)
	require.Len(t, loud, 6)
	for group, list := range quiet {
		assert.Equal(t, list, loud[group], "%v", group)
	}
}
