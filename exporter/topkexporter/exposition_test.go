package topkexporter

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/rule"
)

// scrape is what Prometheus reads: value by series.
func scrape(t testing.TB, e *topkExporter) map[string]float64 {
	w := get(e, "/metrics")
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(w.Body)
	require.NoError(t, err)
	series := map[string]float64{}
	for name, family := range families {
		for _, m := range family.Metric {
			text := name
			labels := m.Label
			slices.SortFunc(labels, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
			for _, l := range labels {
				text += fmt.Sprintf(" %s=%q", l.GetName(), l.GetValue())
			}
			series[text] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return series
}

func TestMetricsOfAList(t *testing.T) {
	d := tenants(t)
	p := counted(t, d, 5*time.Minute, rule.Group{}, map[string]uint64{"a": 9, "b": 5})
	p.PartialReasons = []string{"silent_shards"}
	p.Coverage.Silent, p.Coverage.Gone = 1, 2
	p.Coverage.Late, p.Coverage.Future, p.Coverage.Dropped, p.Coverage.OverflowedShards = 4, 5, 6, 7
	got := scrape(t, shelf(t, p))
	want := map[string]float64{"topk_lists": 1}
	add := func(name string, value float64, extra string) { want[fmt.Sprintf(name, extra)] = value }
	labels := ` group=""%s rule="tenants" scope="global" window="5m"`
	for rank, item := range []struct {
		key    string
		weight float64
	}{{"a", 9}, {"b", 5}} {
		byRank := fmt.Sprintf(" rank=\"%d\"", rank+1)
		add("topk_estimate"+labels, item.weight, byRank)
		add("topk_lower"+labels, item.weight, byRank)
		add("topk_key_estimate"+labels, item.weight, fmt.Sprintf(" key=%q overflow=\"\"", item.key))
		add("topk_key_info"+labels, 1, fmt.Sprintf(" key=%q", item.key)+byRank)
	}
	for name, value := range map[string]float64{
		"topk_total_weight": 14, "topk_total_weight_upper": 14, "topk_other": 0, "topk_distinct": 2, "topk_theta": 0, "topk_rank_gap": 5,
		"topk_error_bound": 0, "topk_certified": 1,
		"topk_partial": 1, "topk_as_of_seconds": float64(noon.Unix()),
		"topk_late_records": 4, "topk_future_records": 5, "topk_dropped_states": 6, "topk_overflowed_shards": 7,
	} {
		add(name+labels, value, "")
	}
	for state, value := range map[string]float64{"reporting": 3, "silent": 1, "gone": 2} {
		want[`topk_shards group="" rule="tenants" scope="global" state="`+state+`" window="5m"`] = value
	}
	assert.Equal(t, want, got)
}

func TestSeriesVanishWithTheirKey(t *testing.T) {
	d := tenants(t)
	e := shelf(t, counted(t, d, 5*time.Minute, rule.Group{}, map[string]uint64{"a": 9, "gone": 5}))
	require.Contains(t, fmt.Sprint(slices.Sorted(maps.Keys(scrape(t, e)))), `key="gone"`)
	require.NoError(t, e.consumeLogs(t.Context(), logs(t, counted(t, d, 5*time.Minute, rule.Group{}, map[string]uint64{"a": 9}))))
	got := fmt.Sprint(slices.Sorted(maps.Keys(scrape(t, e))))
	assert.NotContains(t, got, `key="gone"`)
	assert.NotContains(t, got, `rank="2"`)
}

func TestRanksThatSwapStayWithinTheBudget(t *testing.T) {
	d := tenants(t)
	byRank := map[string]bool{}
	e := shelf(t)
	for n := range 100 {
		weights := map[string]uint64{}
		for i := range 30 {
			weights[fmt.Sprint("key", i)] = uint64(100 + (i*7+n*13)%30)
		}
		require.NoError(t, e.consumeLogs(t.Context(), logs(t, counted(t, d, 5*time.Minute, rule.Group{}, weights))))
		seen := scrape(t, e)
		lists := 0
		for series := range seen {
			if strings.Contains(series, "rule=") {
				lists++
			}
			if strings.HasPrefix(series, "topk_estimate") {
				byRank[series] = true
			}
		}
		require.LessOrEqual(t, lists, 3*exposedRanks+17+keysFollowed+1)
	}
	assert.Len(t, byRank, exposedRanks)
}

func TestExposedLowerBoundsAndOtherAreTheTotal(t *testing.T) {
	d := tenants(t)
	got := scrape(t, shelf(t, summed(d, 5*time.Minute, rule.Group{}, zipf(t, d, 20000))))
	sum, total := 0.0, math.NaN()
	for series, value := range got {
		switch {
		case strings.HasPrefix(series, "topk_lower"), strings.HasPrefix(series, "topk_other"):
			sum += value
		case strings.HasPrefix(series, "topk_total_weight "):
			total = value
		}
	}
	assert.Equal(t, total, sum)
}

func TestAnyKeyCanBeScraped(t *testing.T) {
	weights := map[string]uint64{}
	d := tenants(t, func(d *rule.Definition) { d.Residents = 100 })
	for from := 0; from < len(hostile); from += exposedRanks {
		clear(weights)
		for i, key := range hostile[from:min(from+exposedRanks, len(hostile))] {
			weights[key] = uint64(i + 1)
		}
		got := fmt.Sprint(scrape(t, shelf(t, counted(t, d, 5*time.Minute, rule.Group{}, weights))))
		for key := range weights {
			assert.Contains(t, got, fmt.Sprintf("key=%q", key))
		}
	}
	broken := shelf(t, counted(t, d, 5*time.Minute, rule.Group{}, map[string]uint64{"a": 1}))
	l := *broken.store.list("tenants", fiveMinutes)
	l.List.Items[0].Key = "a\xff"
	assert.Contains(t, fmt.Sprint(scrape(t, broken)), "key=\"a\uFFFD\"", "also one that came in unrepaired")
}

func TestListsOfGroupsAreNotExposed(t *testing.T) {
	assert.NotContains(t, fmt.Sprint(scrape(t, world(t))), `scope="group"`)
}
