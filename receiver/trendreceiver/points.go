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

var (
	// ofList are the gauges that a list has once.
	ofList = []string{
		wire.GaugeTotal, wire.GaugeTotalUpper, wire.GaugeOther, wire.GaugeDistinct, wire.GaugeTheta, wire.GaugeGap, wire.GaugeErrorBound, wire.GaugeCertified,
		wire.GaugePartial, wire.GaugeAsOf, wire.GaugeLate, wire.GaugeFuture, wire.GaugeDropped, wire.GaugeOverflowed,
	}
	states = []string{"reporting", "silent", "gone"}
)

// list adds the points of s and ends the ranks and keys of before that it no longer has. It returns the keys by rank.
func (p *points) list(id series, s *wire.Snapshot, before []string) []string {
	values := map[string]uint64{
		wire.GaugeTotal:      s.Total,
		wire.GaugeTotalUpper: s.TotalUpper,
		wire.GaugeOther:      s.List.Other(s.Total),
		wire.GaugeDistinct:   s.Distinct,
		wire.GaugeTheta:      s.List.Unlisted(),
		wire.GaugeGap:        s.List.Gap(),
		wire.GaugeErrorBound: s.List.ErrorBound(),
		wire.GaugeCertified:  number(s.List.Certified),
		wire.GaugePartial:    number(len(s.PartialReasons) > 0),
		wire.GaugeAsOf:       uint64(max(0, s.AsOf.Unix())),
		wire.GaugeLate:       s.Coverage.Late,
		wire.GaugeFuture:     s.Coverage.Future,
		wire.GaugeDropped:    s.Coverage.Dropped,
		wire.GaugeOverflowed: uint64(s.Coverage.OverflowedShards),
	}
	for _, name := range ofList {
		set(p.add(name, id), values[name])
	}
	for i, n := range []int{s.Coverage.Reporting, s.Coverage.Silent, s.Coverage.Gone} {
		dp := p.add(wire.GaugeShards, id)
		dp.Attributes().PutStr("state", states[i])
		set(dp, uint64(n))
	}
	keys := make([]string, len(s.List.Items))
	for i, it := range s.List.Items {
		keys[i] = it.Key
		set(p.ranked(wire.GaugeEstimate, id, i), it.Estimate)
		set(p.ranked(wire.GaugeLower, id, i), it.Lower)
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
		dp := p.add(wire.GaugeShards, id)
		dp.Attributes().PutStr("state", state)
		end(dp)
	}
	for i, key := range keys {
		p.endRank(id, i)
		end(p.keyed(id, i, key))
	}
}

func (p *points) endRank(id series, i int) {
	end(p.ranked(wire.GaugeEstimate, id, i))
	end(p.ranked(wire.GaugeLower, id, i))
}

func (p *points) keyed(id series, i int, key string) pmetric.NumberDataPoint {
	dp := p.ranked(wire.GaugeKey, id, i)
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
		m.SetDescription(wire.GaugeHelp[name])
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
