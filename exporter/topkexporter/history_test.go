package topkexporter

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
)

// kept are the hours that e keeps of a rule, after the one before noon.
func kept(e *topkExporter, name string) []int {
	hours := []int{}
	if past := e.store.history.rules[name]; past != nil {
		for _, era := range past.eras {
			for _, at := range era.hours {
				hours = append(hours, int((at.start-elevenOClock)/oneHour))
			}
		}
	}
	return hours
}

// totals are the weights of a rule's first hours, as they are answered.
func totals(t testing.TB, e *topkExporter, hours ...window.Minute) []uint64 {
	var all []uint64
	for _, h := range hours {
		all = append(all, decode[trend](t, get(e, "/v1/trending?rule=tenants&at="+at(h))).Total)
	}
	return all
}

func TestALaterRollupReplacesAnEarlierOneOfItsHour(t *testing.T) {
	d := tenants(t)
	disk := &disk{}
	e := opened(t, disk)
	first, second := hourly(t, d, hourAt(0), map[string]uint64{"a": 1}), hourly(t, d, hourAt(0), map[string]uint64{"a": 2})
	second.AsOf = first.AsOf.Add(time.Minute)
	other := hourly(t, d, hourAt(0), map[string]uint64{"a": 9})
	for _, tt := range []struct {
		name   string
		rollup *wire.Rollup
		want   tally
		total  uint64
	}{
		{"the first", first, tally{taken: 1}, 1},
		{"it again", first, tally{stale: 1}, 1},
		{"another of its time", other, tally{stale: 1}, 1},
		{"a later one", second, tally{taken: 1}, 2},
		{"the earlier one again", first, tally{stale: 1}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, e.store.takeRollups(t, noon, tt.rollup))
			assert.Equal(t, []uint64{tt.total}, totals(t, e, hourAt(0)))
			assert.Len(t, disk.keys(rollupPrefix), 1)
			assert.Len(t, disk.keys(hourPrefix), 1)
		})
	}
}

func TestOfOneRequestTheNewestRollupIsKept(t *testing.T) {
	older := hourly(t, tenants(t), hourAt(0), map[string]uint64{"a": 1})
	newer := hourly(t, tenants(t), hourAt(0), map[string]uint64{"a": 2})
	newer.AsOf = older.AsOf.Add(time.Second)
	for _, order := range [][]*wire.Rollup{{older, newer}, {newer, older}} {
		e := shelf(t)
		e.store.takeRollups(t, noon, order...)
		assert.Equal(t, []uint64{2}, totals(t, e, hourAt(0)))
		assert.Equal(t, int64(1), e.store.history.size().rollups)
	}
}

func TestAnHourThatIsRepeatedIsNotWrittenAgain(t *testing.T) {
	d, now := tenants(t, grouped), time.Now()
	disk := &disk{}
	e := opened(t, disk)
	of := func(minutes int, reasons ...string) *wire.Rollup {
		r := hourly(t, d, hourAt(0), map[string]uint64{"a": 1})
		r.AsOf, r.PartialReasons = r.AsOf.Add(time.Duration(minutes)*time.Minute), reasons
		return r
	}
	assert.Equal(t, tally{taken: 1}, e.store.takeRollups(t, now, of(0, "late", "overflow")))
	assert.Equal(t, tally{stale: 1}, e.store.takeRollups(t, now, of(7, "late")))
	assert.Equal(t, tally{taken: 1}, e.store.takeRollups(t, now, of(8)), "other reasons")
	assert.Equal(t, tally{stale: 1}, e.store.takeRollups(t, now, of(9)))
	assert.Equal(t, tally{stale: 1}, e.store.takeRollups(t, now, of(8, "late")), "older than what was repeated")
	require.NoError(t, e.shutdown(t.Context()))
	e = opened(t, disk)
	assert.Equal(t, tally{stale: 1}, e.store.takeRollups(t, now, of(10)), "also after a restart")
}

func TestAGatewayThatLostItsMemoryDoesNotReplaceWhatItKnewBefore(t *testing.T) {
	d := tenants(t, grouped)
	e := opened(t, &disk{})
	of := func(hour, minutes int, g rule.Group, weight uint64, reasons ...string) *wire.Rollup {
		r := rollup(d, hourAt(hour), g, summaryOf(t, d, map[string]uint64{"a": weight}))
		r.AsOf, r.PartialReasons = r.AsOf.Add(time.Duration(minutes)*time.Minute), reasons
		return r
	}
	assert.Equal(t, tally{taken: 2}, e.store.takeRollups(t, noon, of(0, 0, rule.Group{}, 9), of(0, 0, group("eu"), 9)))
	assert.Equal(t, tally{stale: 2, taken: 1}, e.store.takeRollups(t, noon,
		of(0, 5, rule.Group{}, 1, reasonShort), of(0, 5, group("us"), 1, reasonShort), of(1, 5, rule.Group{}, 2, reasonShort)))
	assert.Equal(t, []uint64{9, 2}, totals(t, e, hourAt(0), hourAt(1)))
	assert.Equal(t, tally{taken: 1}, e.store.takeRollups(t, noon, of(1, 6, rule.Group{}, 1, reasonShort)), "it knows as much now as then")
	assert.Equal(t, tally{taken: 1}, e.store.takeRollups(t, noon, of(0, 6, rule.Group{}, 7)))
	assert.Equal(t, []uint64{7, 1}, totals(t, e, hourAt(0), hourAt(1)))
}

func TestHoursAreKeptAsLongAsKeepSays(t *testing.T) {
	d := tenants(t)
	for name, start := range map[string]time.Time{"as they pass": noon, "replayed years later": noon.Add(7 * 365 * 24 * time.Hour)} {
		t.Run(name, func(t *testing.T) {
			disk := &disk{}
			e := opened(t, disk, func(c *Config) { c.Keep = 3 * time.Hour })
			take := func(hour int, now time.Time) tally {
				return e.store.takeRollups(t, now, hourly(t, d, hourAt(hour), map[string]uint64{"a": 1}))
			}
			for hour := range 6 {
				require.Equal(t, tally{taken: 1}, take(hour, start.Add(time.Duration(hour)*time.Hour)))
			}
			assert.Equal(t, []int{2, 3, 4, 5}, kept(e, "tenants"), "an hour longer, as a clock may jump")
			assert.Equal(t, tally{stale: 1}, take(1, start.Add(5*time.Hour)))
			assert.Equal(t, tally{stale: 1}, take(2, start.Add(5*time.Hour)))
			assert.Equal(t, []int{2, 3, 4, 5}, kept(e, "tenants"))

			e.store.tend(t.Context(), start.Add(6*time.Hour))
			assert.Equal(t, []int{3, 4, 5}, kept(e, "tenants"), "they go also when nothing comes any more")
			e.store.tend(t.Context(), start.Add(4*time.Hour))
			e.store.tend(t.Context(), start.Add(6*time.Hour+time.Hour-1))
			assert.Equal(t, []int{3, 4, 5}, kept(e, "tenants"), "a clock that jumped back takes nothing with it")
			e.store.tend(t.Context(), start.Add(9*time.Hour))
			assert.Empty(t, e.store.history.rules)
			assert.Zero(t, e.store.history.size().bytes)
			assert.Zero(t, e.store.history.size().removed, "that is not a loss")
			assert.Empty(t, disk.keys(""))
		})
	}
}

func TestAnHourThatIsNotOverIsNotTaken(t *testing.T) {
	d := tenants(t)
	s := storeOf(10)
	assert.Equal(t, tally{taken: 1}, s.takeRollups(t, noon, hourly(t, d, hourAt(1), nil)), "clocks differ by an hour at most")
	assert.Equal(t, tally{ahead: 1}, s.takeRollups(t, noon, hourly(t, d, hourAt(2), nil)))
	last := hourly(t, d, lastHour, nil)
	last.AsOf = noon
	assert.Equal(t, tally{ahead: 1}, s.takeRollups(t, noon, last))
}

func TestTheOldestHoursGoFirstWhenHistoryIsFull(t *testing.T) {
	disk := &disk{}
	e := opened(t, disk, func(c *Config) { c.MaxHistorySize = leastHistory })
	rules := []*rule.Definition{tenants(t), tenants(t, called("second"))}
	weights := map[string]uint64{}
	for i := range 64 {
		weights[fmt.Sprintf("%d-%s", i, randomText(200))] = uint64(i + 1)
	}
	of := func(d *rule.Definition, hour int) *wire.Rollup { return hourly(t, d, hourAt(hour), weights) }
	taken := 0
	for hour := 0; e.store.history.size().removed == 0; hour++ {
		for _, d := range rules {
			e.store.takeRollups(t, noon.Add(time.Duration(hour)*time.Hour), of(d, hour))
			taken++
		}
	}
	size := e.store.history.size()
	assert.Equal(t, int64(2), size.removed, "the oldest hour of both rules")
	assert.Equal(t, int64(taken), size.rollups+size.removed)
	assert.LessOrEqual(t, size.bytes, int64(leastHistory))
	assert.Greater(t, size.bytes, int64(leastHistory*9/10))
	assert.Len(t, disk.keys(rollupPrefix), int(size.rollups))
	assert.Equal(t, 1, kept(e, "tenants")[0])
	assert.Equal(t, 1, kept(e, "second")[0])
	assert.Equal(t, tally{overLimit: 1}, e.store.takeRollups(t, noon, of(rules[0], 0)), "what was given up does not come back by parts")
	assert.Equal(t, []int{1}, kept(e, "tenants")[:1])
	got := decode[trend](t, get(e, "/v1/trending?rule=tenants&at="+at(hourAt(0))))
	assert.Equal(t, []string{reasonMissing}, got.PartialReasons)
}

func TestDefinitionsThatDifferAreNeverMerged(t *testing.T) {
	disk := &disk{}
	e := opened(t, disk)
	old, wide := tenants(t), tenants(t, func(d *rule.Definition) { d.Shape.Width *= 2; d.K = 10 })
	bytes := tenants(t, func(d *rule.Definition) { d.Weight = "bytes" })
	changeover := hourly(t, old, hourAt(1), map[string]uint64{"a": 3})
	roll(t, e,
		hourly(t, old, hourAt(0), map[string]uint64{"a": 1}), changeover,
		hourly(t, wide, hourAt(1), map[string]uint64{"a": 10}), hourly(t, wide, hourAt(2), map[string]uint64{"a": 20}),
		hourly(t, bytes, hourAt(4), map[string]uint64{"a": 500}))
	e.handler.now = func() time.Time { return noon.Add(24 * time.Hour) }
	for restarted := range 2 {
		for _, tt := range []struct {
			name     string
			from, to int
			total    uint64
			reasons  []string
		}{
			{"before the change", 0, 1, 1, []string{}},
			{"the hour of the change", 1, 2, 10, []string{reasonChanged}},
			{"over the change", 0, 2, 10, []string{reasonChanged}},
			{"over it and further", 0, 3, 30, []string{reasonChanged}},
			{"after it", 2, 3, 20, []string{}},
			{"over two changes and a gap", 0, 5, 500, []string{reasonChanged, reasonMissing}},
			{"over a gap", 2, 5, 500, []string{reasonChanged, reasonMissing}},
		} {
			t.Run(fmt.Sprint(tt.name, restarted), func(t *testing.T) {
				got := decode[trend](t, get(e, "/v1/trending?from="+at(hourAt(tt.from))+"&to="+at(hourAt(tt.to))))
				assert.Equal(t, tt.total, got.Total)
				assert.Equal(t, tt.reasons, got.PartialReasons)
			})
		}
		assert.Equal(t, 400, get(e, "/v1/trending?k=11&at="+at(hourAt(2))).Code, "the k of the definition that answers")
		assert.Equal(t, 200, get(e, "/v1/trending?k=11&at="+at(hourAt(0))).Code)
		require.NoError(t, e.shutdown(t.Context()))
		e = opened(t, disk)
		e.handler.now = func() time.Time { return noon.Add(24 * time.Hour) }
	}
}

func TestGroupsOfADefinitionThatKnewNone(t *testing.T) {
	e := opened(t, &disk{})
	plain, byRegion := tenants(t), tenants(t, grouped)
	roll(t, e, hourly(t, plain, hourAt(0), map[string]uint64{"a": 1}), hourly(t, byRegion, hourAt(1), map[string]uint64{"a": 2}))
	got := decode[trend](t, get(e, "/v1/trending?group=eu&at="+at(hourAt(0))))
	assert.Equal(t, []string{reasonChanged}, got.PartialReasons)
	assert.Nil(t, got.AsOf)
}

func TestAnHourWhoseGroupsDoNotAddUpIsNotWhole(t *testing.T) {
	d := tenants(t, grouped)
	e := opened(t, &disk{})
	weights := map[string]uint64{"a": 5}
	roll(t, e, hourly(t, d, hourAt(0), map[string]uint64{"a": 8}), rollup(d, hourAt(0), group("eu"), summaryOf(t, d, weights)))
	ask := func(query string) trend {
		return decode[trend](t, get(e, "/v1/trending?at="+at(hourAt(0))+query))
	}
	assert.Empty(t, ask("").PartialReasons)
	assert.Equal(t, []string{reasonMissing}, ask("&group=us").PartialReasons, "3 of 8 are of a group that did not come")
	roll(t, e, rollup(d, hourAt(0), rule.Group{Scope: rule.ScopeMissing}, summaryOf(t, d, map[string]uint64{"a": 3})))
	assert.Empty(t, ask("&group=us").PartialReasons)
	assert.Zero(t, ask("&group=us").TotalUpper)
	assert.True(t, ask("&group=us").Certified, "nothing was counted of it, for sure")
}

func TestReasonsOfAllHoursAreSaid(t *testing.T) {
	d := tenants(t, grouped)
	e := opened(t, &disk{})
	of := func(hour int, g rule.Group, minutes int, reasons ...string) *wire.Rollup {
		r := rollup(d, hourAt(hour), g, summaryOf(t, d, map[string]uint64{"a": 5}))
		r.AsOf, r.PartialReasons = r.AsOf.Add(time.Duration(minutes)*time.Minute), reasons
		return r
	}
	roll(t, e, of(0, rule.Group{}, 0, "drops"), of(0, group("eu"), 0, "drops", "overflow"),
		of(1, rule.Group{}, 0, "silent_shards", "late"), of(1, group("us"), 0, "late"))
	ask := func(query string) []string {
		return decode[trend](t, get(e, "/v1/trending?from="+at(hourAt(0))+"&to="+at(hourAt(2))+query)).PartialReasons
	}
	assert.Equal(t, []string{"drops", "silent_shards", "late"}, ask(""))
	assert.Equal(t, []string{"drops", "silent_shards", "late"}, ask("&group=eu"), "also where it has no record")
	roll(t, e, of(1, rule.Group{}, 1, "late"))
	assert.Equal(t, []string{"drops", "late"}, ask(""), "the newest roll-ups of an hour know best")
}

var textSeed atomic.Uint64

// randomText is text that does not compress.
func randomText(n int) string {
	b := make([]byte, n)
	state := uint64(n)
	for i := range b {
		state = state*6364136223846793005 + textSeed.Add(1)
		b[i] = byte('!' + state>>33%90)
	}
	return string(b)
}
