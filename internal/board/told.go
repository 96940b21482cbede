package board

import (
	"maps"
	"slices"

	"github.com/otel-topk/collector/internal/wire"
)

// RuleReports are what all shards below told of each rule, cumulative as long as the Shelf lives, and how many there are, as of
// the last publication. Where there are more rules than a report holds, they are those from a turn on, in a circle: a caller that
// draws turns tells of all.
func (b *Board) RuleReports(turn uint64) []wire.RuleReport {
	sums := map[string]*wire.RuleReport{}
	add := func(name string, told *wire.RuleReport) {
		sum := sums[name]
		if sum == nil {
			sum = &wire.RuleReport{Rule: name, Below: &wire.Below{}}
			sums[name] = sum
		}
		addReport(sum, told)
	}
	for name, told := range b.told {
		add(name, told)
	}
	for _, e := range b.epochs {
		for _, p := range e.reports {
			add(p.rule, &p.told)
		}
	}
	names := slices.Sorted(maps.Keys(sums))
	if n := len(names); n > wire.MaxReportRules {
		from := int(turn % uint64(n))
		names = slices.Concat(names[from:], names[:from])[:wire.MaxReportRules]
	}
	all := make([]wire.RuleReport, 0, len(names))
	for _, name := range names {
		sum := sums[name]
		if at := b.present[name]; at != nil {
			*sum.Below = wire.Below{Reporting: at.reporting, Silent: at.silent, Gone: at.gone, SilentShards: at.named}
		}
		all = append(all, *sum)
	}
	return all
}

func addReport(sum, told *wire.RuleReport) {
	sum.Records = saturated(sum.Records, told.Records)
	sum.Late = saturated(sum.Late, told.Late)
	sum.Future = saturated(sum.Future, told.Future)
	sum.Dropped = saturated(sum.Dropped, told.Dropped)
}

// keepTold keeps what a shard told that is to be forgotten: what goes up never goes back.
func (b *Board) keepTold(e *epoch) {
	if b.cfg.Ascent == nil {
		return
	}
	for _, p := range e.reports {
		if told := b.toldOf(p.rule); told != nil {
			addReport(told, &p.told)
			b.storeTold(told)
		}
	}
}

// toldOf a rule is what goes up of it beside what live shards tell; nil: there is no room for one rule more.
func (b *Board) toldOf(name string) *wire.RuleReport {
	told := b.told[name]
	if told == nil {
		if len(b.told) >= max(b.cfg.MaxRules, wire.MaxReportRules) {
			b.stats.Untold++
			return nil
		}
		told = &wire.RuleReport{Rule: name}
		if b.told == nil {
			b.told = map[string]*wire.RuleReport{}
		}
		b.told[name] = told
	}
	return told
}

func (b *Board) storeTold(told *wire.RuleReport) {
	if b.cfg.Shelf != nil {
		b.cfg.Shelf.Set(toldPrefix+told.Rule, toldValue(told))
	}
}
