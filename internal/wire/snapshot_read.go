package wire

import (
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/topk"
)

// decodeSnapshot reads what AppendSnapshot wrote. What follows from other fields (ranks, parts, error bounds,
// certificates) is not read but worked out.
func decodeSnapshot(lr plog.LogRecord) (*Snapshot, error) {
	if lr.Body().Type() != pcommon.ValueTypeMap {
		return nil, refuse(ReasonInvalid, "body: a %s, only a Map is allowed", lr.Body().Type())
	}
	var refusal *Refusal
	attributes := fields{lr.Attributes(), "attributes.", &refusal}
	body := fields{lr.Body().Map(), "body.", &refusal}
	s := &Snapshot{
		Group:          readGroup(attributes),
		WindowStart:    body.time("window_start"),
		AsOf:           body.time("as_of"),
		Approximate:    body.bool("approximate"),
		PartialReasons: body.texts("partial_reasons"),
		Total:          body.uint("total"),
		TotalUpper:     body.uint("total_upper"),
		Records:        body.uint("records"),
		Distinct:       body.uint("distinct"),
		Coverage:       readCoverage(body.sub("coverage")),
		Rule:           readDefinition(body.sub("definition")),
	}
	if name := attributes.text("window", true); refusal == nil {
		d, err := window.Parse(name)
		if err != nil {
			return nil, refuse(ReasonInvalid, "attributes.window: not the name of a window")
		}
		s.Window = d
	}
	for _, c := range body.maps("conflicts") {
		s.Conflicts = append(s.Conflicts, Conflict{
			Fingerprint: c.text("fingerprint", true),
			LiveShards:  c.int("live_shards", 0, math.MaxInt32),
			Rule:        readDefinition(c.sub("definition")),
		})
	}
	list := readList(body)
	if refusal != nil {
		return nil, refusal
	}
	if err := s.check(list); err != nil {
		return nil, err
	}
	s.List = list.First(list.K)
	return s, nil
}

func (s *Snapshot) check(list topk.List) error {
	if err := checkDefinition(s.Rule); err != nil {
		return err
	}
	for _, c := range s.Conflicts {
		if err := checkDefinition(c.Rule); err != nil {
			return err
		}
	}
	if err := checkGroup(s.Group, s.Rule); err != nil {
		return err
	}
	if err := checkWindow(s.Window); err != nil {
		return err
	}
	if err := checkReasons("body.partial_reasons", s.PartialReasons); err != nil {
		return err
	}
	if s.TotalUpper < s.Total {
		return refuse(ReasonInvalid, "body.total_upper: below body.total")
	}
	if len(list.Items) > list.K {
		return outside("body.items", len(list.Items), 0, list.K)
	}
	left := s.Total
	for i, it := range list.Items {
		switch {
		case it.Lower > it.Estimate:
			return refuse(ReasonInvalid, "body.items[%d].lower: above its estimate", i)
		case it.Lower > left:
			return refuse(ReasonInvalid, "body.items[%d].lower: with those before it above body.total", i)
		case len(it.Key) > s.Rule.MaxKeyBytes:
			return tooLarge("body.items.key", len(it.Key), s.Rule.MaxKeyBytes)
		case i == 0:
		case it.Estimate > list.Items[i-1].Estimate, it.Estimate == list.Items[i-1].Estimate && it.Key <= list.Items[i-1].Key:
			return refuse(ReasonInvalid, "body.items[%d]: out of order", i)
		}
		left -= it.Lower
	}
	if n := len(list.Items); n == list.K && list.Next > list.Items[n-1].Estimate || n < list.K && list.Next > 0 {
		return refuse(ReasonInvalid, "body.next: above the last item, or after a short list")
	}
	return nil
}

func readGroup(a fields) rule.Group {
	scope, err := rule.ParseScope(a.text("scope", true))
	if err != nil {
		a.refuse(ReasonInvalid, "attributes.scope: allowed are global, group, missing, overflow")
	}
	return rule.Group{Scope: scope, Name: a.text("group", scope == rule.ScopeGroup)}
}

func readList(body fields) topk.List {
	list := topk.List{K: body.int("k", 1, rule.MaxK), Theta: body.uint("theta"), Next: body.uint("next")}
	for i, it := range body.maps("items") {
		if i == rule.MaxK {
			body.refuse(ReasonTooLarge, "body.items: more than %d", rule.MaxK)
			break
		}
		list.Items = append(list.Items, topk.Item{
			Key: it.text("key", true), Estimate: it.uint("estimate"), Lower: it.uint("lower"),
		})
	}
	return list
}

func readCoverage(m fields) Coverage {
	c := Coverage{
		Reporting:        m.int("reporting", 0, math.MaxInt32),
		Silent:           m.int("silent", 0, math.MaxInt32),
		Gone:             m.int("gone", 0, math.MaxInt32),
		Late:             m.uint("late"),
		Future:           m.uint("future"),
		Dropped:          m.uint("dropped"),
		OverflowedShards: m.int("overflowed_shards", 0, math.MaxInt32),
	}
	for _, s := range m.maps("silent_shards") {
		c.SilentShards = append(c.SilentShards, SilentShard{Shard: s.text("shard", true), Since: s.time("since")})
	}
	return c
}

func readDefinition(m fields) *rule.Definition {
	d := &rule.Definition{
		Name:        m.text("name", true),
		Signals:     m.texts("signals"),
		Key:         m.texts("key"),
		GroupBy:     m.text("group_by", true),
		Weight:      m.text("weight", true),
		WeightScale: m.double("weight_scale"),
		Conditions:  m.texts("conditions"),
		Time:        m.text("time", true),
		K:           m.int("k", 1, rule.MaxK),
		MaxKeyBytes: m.int("max_key_bytes", 1, topk.MaxKeyBytes),
		Residents:   m.int("residents", 1, topk.MaxResidents),
		Shape:       topk.Shape{Width: m.int("width", 1, topk.MaxWidth), Depth: m.int("depth", 1, topk.MaxDepth)},
	}
	if _, ok := m.m.Get("default"); ok {
		text := m.text("default", true)
		d.Default = &text
	}
	return d
}
