package trendreceiver

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otel-topk/collector/internal/board"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

func TestAListBecomesGauges(t *testing.T) {
	var p gaugePipeline
	g := newGauges(&p, false)
	publish(t, g, []*wire.Snapshot{list(t, "a", 5, "b", 2)}, nil)
	assert.Equal(t, `
topk_as_of_seconds 1000
topk_certified 1
topk_distinct 2
topk_dropped_states 6
topk_error_bound 0
topk_estimate rank=1 5
topk_estimate rank=2 2
topk_future_records 5
topk_key_info rank=1 key=a 1
topk_key_info rank=2 key=b 1
topk_late_records 4
topk_lower rank=1 5
topk_lower rank=2 2
topk_other 3
topk_overflowed_shards 7
topk_partial 1
topk_rank_gap 2
topk_shards state=gone 3
topk_shards state=reporting 1
topk_shards state=silent 2
topk_theta 0
topk_total_weight 10
topk_total_weight_upper 11
`, p.text(t))
}

func TestLowerBoundsAndOtherAddUpToTheTotal(t *testing.T) {
	var p gaugePipeline
	g := newGauges(&p, false)
	s := list(t, "a", 5, "b", 2)
	publish(t, g, []*wire.Snapshot{s}, nil)
	values := p.values(t)
	assert.Equal(t, values["topk_total_weight"], values["topk_lower rank=1"]+values["topk_lower rank=2"]+values["topk_other"])

	s.Total = 1 // as no summary can say, but a broken one might
	publish(t, g, []*wire.Snapshot{s}, nil)
	assert.Zero(t, p.values(t)["topk_other"])
}

func TestThetaBoundsTheNextKeyToo(t *testing.T) {
	var p gaugePipeline
	s := list(t, "a", 5, "b", 2)
	s.List.Next = 2
	publish(t, newGauges(&p, false), []*wire.Snapshot{s}, nil)
	assert.Equal(t, 2, int(p.values(t)["topk_theta"]))
}

func TestASeriesThatEndsIsSentOnceWithoutAValue(t *testing.T) {
	var p gaugePipeline
	g := newGauges(&p, false)
	publish(t, g, []*wire.Snapshot{list(t, "a", 5, "b", 2)}, nil)

	for _, step := range []struct {
		what    string
		changed *wire.Snapshot
		ended   *wire.Snapshot
		want    string
	}{
		{"two keys change places", list(t, "b", 6, "a", 5), nil, "topk_key_info rank=1 key=a, topk_key_info rank=2 key=b"},
		{"nothing changes", list(t, "b", 7, "a", 5), nil, ""},
		{"a key leaves", list(t, "b", 7), nil, "topk_estimate rank=2, topk_key_info rank=2 key=a, topk_lower rank=2"},
		{"the list is empty", list(t), nil, "topk_estimate rank=1, topk_key_info rank=1 key=b, topk_lower rank=1"},
		{"it fills again", list(t, "c", 1), nil, ""},
		{"it ends", nil, list(t), "topk_as_of_seconds, topk_certified, topk_distinct, topk_dropped_states, topk_error_bound, topk_estimate rank=1, " +
			"topk_future_records, topk_key_info rank=1 key=c, topk_late_records, topk_lower rank=1, topk_other, topk_overflowed_shards, topk_partial, topk_rank_gap, topk_shards state=gone, topk_shards state=reporting, " +
			"topk_shards state=silent, topk_theta, topk_total_weight, topk_total_weight_upper"},
		{"it has ended", nil, list(t), ""},
	} {
		t.Run(step.what, func(t *testing.T) {
			publish(t, g, snapshots(step.changed), snapshots(step.ended))
			assert.Equal(t, step.want, strings.Join(p.gone(t), ", "))
		})
	}
}

func TestWhatAFailedRequestWasToEndIsEndedByTheNext(t *testing.T) {
	var p gaugePipeline
	g := newGauges(&p, true)
	a, b := list(t, "a", 5), list(t, "b", 5)
	b.Group = rule.Group{Scope: rule.ScopeGroup, Name: "eu"}
	publish(t, g, []*wire.Snapshot{a, b}, nil)
	p.requests = nil

	p.err = errors.New("full")
	_, failures := g.publish(t.Context(), time.Unix(2000, 0), published(list(t, "c", 9)), []*wire.Snapshot{b})
	require.Len(t, failures, 1)

	p.err = nil
	publish(t, g, []*wire.Snapshot{list(t, "c", 9)}, nil)
	gone := p.gone(t)
	assert.Contains(t, gone, "topk_key_info rank=1 key=a")
	assert.Contains(t, gone, "topk_key_info scope=group group=eu rank=1 key=b")
	publish(t, g, nil, nil)
	assert.Empty(t, p.requests)
}

func TestGroupsAreSentOnlyIfAskedFor(t *testing.T) {
	for _, asked := range []bool{false, true} {
		t.Run(fmt.Sprint(asked), func(t *testing.T) {
			var p gaugePipeline
			g := newGauges(&p, asked)
			all, eu, none := list(t, "a", 5), list(t, "a", 5), list(t, "a", 5)
			eu.Group = rule.Group{Scope: rule.ScopeGroup, Name: "eu"}
			none.Group = rule.Group{Scope: rule.ScopeMissing}
			publish(t, g, []*wire.Snapshot{all, eu, none}, nil)
			n := 0
			for name := range p.values(t) {
				if strings.HasPrefix(name, "topk_total_weight ") || name == "topk_total_weight" {
					n++
				}
			}
			if asked {
				assert.Equal(t, 3, n)
			} else {
				assert.Equal(t, 1, n)
			}
		})
	}
}

func TestRanksThatSwapStayWithinTheirBudgetOfSeries(t *testing.T) {
	var p gaugePipeline
	g := newGauges(&p, false)
	distinct := map[string]bool{}
	for i := range 1000 {
		s := list(t, "a", 9, "b", 5, "c", 4)
		if i%2 == 1 {
			s = list(t, "a", 9, "c", 5, "b", 4)
		}
		publish(t, g, []*wire.Snapshot{s}, nil)
		alive := 0
		for name := range p.values(t) {
			distinct[name] = true
			alive++
		}
		require.LessOrEqual(t, alive, 3*3+17, "at a time")
		p.requests = nil
	}
	assert.LessOrEqual(t, len(distinct), 3*3+17+2, "in all: each of two keys at two ranks")
}

func TestManyGaugesGoInRequestsOfABoundedSize(t *testing.T) {
	var p gaugePipeline
	g := newGauges(&p, true)
	var lists []*wire.Snapshot
	for i := range 2000 {
		s := list(t, "a", 5)
		s.Group = rule.Group{Scope: rule.ScopeGroup, Name: fmt.Sprint(i)}
		lists = append(lists, s)
	}
	publish(t, g, lists, nil)
	assert.Len(t, p.requests, 4)
	p.requests = nil
	publish(t, g, nil, lists)
	assert.Len(t, p.requests, 4)
	assert.Empty(t, g.stand)
}

// list has the keys and weights, 3 more in its total, and 1 hidden.
func list(t *testing.T, keysAndWeights ...any) *wire.Snapshot {
	d := *newShard(t, 1).rule
	s := &wire.Snapshot{
		Rule:           &d,
		Window:         5 * time.Minute,
		AsOf:           time.Unix(1000, 0),
		PartialReasons: []string{"silent_shards"},
		Coverage:       wire.Coverage{Reporting: 1, Silent: 2, Gone: 3, Late: 4, Future: 5, Dropped: 6, OverflowedShards: 7},
		Total:          3,
		TotalUpper:     4,
		List:           topk.List{K: 3},
	}
	for i := 0; i < len(keysAndWeights); i += 2 {
		w := uint64(keysAndWeights[i+1].(int))
		s.List.Items = append(s.List.Items, topk.Item{Key: keysAndWeights[i].(string), Estimate: w, Lower: w})
		s.Total, s.TotalUpper, s.Distinct = s.Total+w, s.TotalUpper+w, s.Distinct+1
	}
	s.List = s.List.First(3)
	return s
}

func publish(t *testing.T, g *gauges, changed, ended []*wire.Snapshot) {
	sent, failures := g.publish(t.Context(), time.Unix(2000, 0), published(changed...), ended)
	require.Empty(t, failures)
	require.GreaterOrEqual(t, sent, 0)
}

func published(lists ...*wire.Snapshot) (all []board.Published) {
	for _, s := range lists {
		all = append(all, board.Published{Snapshot: s})
	}
	return all
}

func snapshots(s *wire.Snapshot) []*wire.Snapshot {
	if s == nil {
		return nil
	}
	return []*wire.Snapshot{s}
}

// points yields the points that came since the last call, by what tells their series apart.
func (p *gaugePipeline) points(t *testing.T, f func(series string, dp pmetric.NumberDataPoint)) {
	for _, md := range p.requests {
		for _, m := range md.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().All() {
			for _, dp := range m.Gauge().DataPoints().All() {
				assert.EqualValues(t, 2000, dp.Timestamp().AsTime().Unix())
				labels := dp.Attributes().AsRaw()
				assert.Equal(t, "tenants", labels["rule"])
				assert.Equal(t, "5m", labels["window"])
				name := m.Name()
				for _, label := range []string{"scope", "group", "rank", "key", "state"} {
					if v, ok := labels[label]; ok && v != "" && v != "global" {
						name += fmt.Sprintf(" %s=%v", label, v)
					}
				}
				f(name, dp)
			}
		}
	}
	p.requests = nil
}

func (p *gaugePipeline) values(t *testing.T) map[string]int64 {
	values := map[string]int64{}
	p.points(t, func(series string, dp pmetric.NumberDataPoint) {
		if !dp.Flags().NoRecordedValue() {
			require.NotContains(t, values, series)
			values[series] = dp.IntValue()
		}
	})
	return values
}

// gone are the series that were ended.
func (p *gaugePipeline) gone(t *testing.T) (names []string) {
	p.points(t, func(series string, dp pmetric.NumberDataPoint) {
		if dp.Flags().NoRecordedValue() {
			names = append(names, series)
		}
	})
	sort.Strings(names)
	return names
}

func (p *gaugePipeline) text(t *testing.T) string {
	var lines []string
	for name, v := range p.values(t) {
		lines = append(lines, fmt.Sprintf("%s %d\n", name, v))
	}
	sort.Strings(lines)
	return "\n" + strings.Join(lines, "")
}
