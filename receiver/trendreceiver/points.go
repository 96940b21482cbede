package trendreceiver

import (
	"math"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/receiver/trendreceiver/internal/metadata"
)

// points is a request of gauges.
type points struct {
	md     pmetric.Metrics
	time   pcommon.Timestamp
	gauges map[string]pmetric.NumberDataPointSlice
	n      int
}

func newPoints(now time.Time) *points {
	md := pmetric.NewMetrics()
	md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Scope().SetName(metadata.ScopeName)
	return &points{md: md, time: pcommon.NewTimestampFromTime(now), gauges: map[string]pmetric.NumberDataPointSlice{}}
}

// The gauges of a list, in the order in which they are sent.
const (
	gaugeEstimate   = "topk_estimate"
	gaugeLower      = "topk_lower"
	gaugeKey        = "topk_key_info"
	gaugeTotal      = "topk_total_weight"
	gaugeTotalUpper = "topk_total_weight_upper"
	gaugeOther      = "topk_other"
	gaugeDistinct   = "topk_distinct"
	gaugeTheta      = "topk_theta"
	gaugeCertified  = "topk_certified"
	gaugePartial    = "topk_partial"
	gaugeAsOf       = "topk_as_of_seconds"
	gaugeShards     = "topk_shards"
)

var (
	descriptions = map[string]string{
		gaugeEstimate:   "Weight of the key at this rank, never too low.",
		gaugeLower:      "Weight that the key at this rank has at least.",
		gaugeKey:        "Says which key is at this rank.",
		gaugeTotal:      "Weight of all keys.",
		gaugeTotalUpper: "Weight of all keys and of what may be hidden in the overflow of shards.",
		gaugeOther:      "Weight of all keys less the lower bounds of the listed ones.",
		gaugeDistinct:   "Number of keys.",
		gaugeTheta:      "Weight that no unlisted key passes.",
		gaugeCertified:  "1 if the list is surely the right one.",
		gaugePartial:    "1 if the list lacks something that the shards should have sent.",
		gaugeAsOf:       "Unix time that the list speaks of.",
		gaugeShards:     "Shards by state.",
	}
	ofList = []string{gaugeTotal, gaugeTotalUpper, gaugeOther, gaugeDistinct, gaugeTheta, gaugeCertified, gaugePartial, gaugeAsOf}
	states = []string{"reporting", "silent", "gone"}
)

// list adds the points of s and ends the ranks and keys of before that it no longer has. It returns the keys by rank.
func (p *points) list(id series, s *wire.Snapshot, before []string) []string {
	values := map[string]uint64{
		gaugeTotal:      s.Total,
		gaugeTotalUpper: s.TotalUpper,
		gaugeOther:      other(s),
		gaugeDistinct:   s.Distinct,
		gaugeTheta:      max(s.List.Theta, s.List.Next), // a resident beyond the list, or any other key
		gaugeCertified:  number(s.List.Certified),
		gaugePartial:    number(len(s.PartialReasons) > 0),
		gaugeAsOf:       uint64(max(0, s.AsOf.Unix())),
	}
	for _, name := range ofList {
		set(p.add(name, id), values[name])
	}
	for i, n := range []int{s.Coverage.Reporting, s.Coverage.Silent, s.Coverage.Gone} {
		dp := p.add(gaugeShards, id)
		dp.Attributes().PutStr("state", states[i])
		set(dp, uint64(n))
	}
	keys := make([]string, len(s.List.Items))
	for i, it := range s.List.Items {
		keys[i] = it.Key
		set(p.ranked(gaugeEstimate, id, i), it.Estimate)
		set(p.ranked(gaugeLower, id, i), it.Lower)
		set(p.keyed(id, i, it.Key), 1)
	}
	for i, key := range before {
		if i >= len(keys) {
			p.endRank(id, i)
		}
		if i >= len(keys) || keys[i] != key {
			end(p.keyed(id, i, key))
		}
	}
	return keys
}

// end marks all series of a list as ended.
func (p *points) end(id series, keys []string) {
	for _, name := range ofList {
		end(p.add(name, id))
	}
	for _, state := range states {
		dp := p.add(gaugeShards, id)
		dp.Attributes().PutStr("state", state)
		end(dp)
	}
	for i, key := range keys {
		p.endRank(id, i)
		end(p.keyed(id, i, key))
	}
}

func (p *points) endRank(id series, i int) {
	end(p.ranked(gaugeEstimate, id, i))
	end(p.ranked(gaugeLower, id, i))
}

func (p *points) keyed(id series, i int, key string) pmetric.NumberDataPoint {
	dp := p.ranked(gaugeKey, id, i)
	dp.Attributes().PutStr("key", key)
	return dp
}

func (p *points) ranked(name string, id series, i int) pmetric.NumberDataPoint {
	dp := p.add(name, id)
	dp.Attributes().PutInt("rank", int64(i+1))
	return dp
}

func (p *points) add(name string, id series) pmetric.NumberDataPoint {
	slice, ok := p.gauges[name]
	if !ok {
		m := p.md.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().AppendEmpty()
		m.SetName(name)
		m.SetDescription(descriptions[name])
		slice = m.SetEmptyGauge().DataPoints()
		p.gauges[name] = slice
	}
	p.n++
	dp := slice.AppendEmpty()
	dp.SetTimestamp(p.time)
	a := dp.Attributes()
	a.PutStr("rule", id.rule)
	a.PutStr("window", window.Name(id.window))
	a.PutStr("scope", id.group.Scope.String())
	a.PutStr("group", id.group.Name)
	return dp
}

func end(dp pmetric.NumberDataPoint) {
	dp.SetFlags(pmetric.DefaultDataPointFlags.WithNoRecordedValue(true))
}

func set(dp pmetric.NumberDataPoint, n uint64) {
	dp.SetIntValue(int64(min(n, math.MaxInt64)))
}

func number(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// other is what of the total no listed key has for sure.
func other(s *wire.Snapshot) uint64 {
	rest := s.Total
	for _, it := range s.List.Items {
		rest -= min(rest, it.Lower)
	}
	return rest
}
