package topkexporter

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/otel-topk/collector/exporter/topkexporter/internal/exact"
	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
)

// servedHistory is what was served of the past, for audits.
type servedHistory struct{ store *store }

func spanOfHours(from, to archive.Hour) span {
	return span{window.Minute(from) * oneHour, window.Minute(to) * oneHour}
}

// Groups of the definition that is served of a span, if it is d.
func (s servedHistory) Groups(d *rule.Definition, from, to archive.Hour) exact.ServedGroups {
	h, at := s.store.history, spanOfHours(from, to)
	p := h.plan(d.Name, rule.Group{}, at, time.Now())
	h.mu.RLock()
	defer h.mu.RUnlock()
	var served exact.ServedGroups
	if past := h.rules[d.Name]; past != nil {
		first := slices.MinFunc(past.eras, func(a, b *era) int { return cmp.Compare(a.hours[0].start, b.hours[0].start) }).hours[0].start
		served.Gone = past.removed > 0 && at.from <= past.removedTo
		served.Expected = first < at.from && !served.Gone
	}
	if p.era == nil || p.era.fingerprint != d.Fingerprint() {
		served.Other = p.era != nil
		return served
	}
	var version []byte
	known := map[rule.Group]bool{}
	hours := p.era.within(at)
	if len(hours) > 0 {
		served.Hours = map[archive.Hour]bool{}
	}
	for _, hour := range hours {
		served.Hours[archive.Hour(hour.start/oneHour)] = hour.counted(p.era)
		version = binary.AppendUvarint(version, uint64(hour.start))
		for i := range hour.entries {
			entry := &hour.entries[i]
			version = binary.LittleEndian.AppendUint64(binary.AppendUvarint(version, uint64(entry.slot)), entry.hash)
			if g := p.era.groups.groups[entry.group]; !known[g] {
				known[g] = true
				served.Groups = append(served.Groups, g)
			}
		}
	}
	served.Version = xxh3.Hash(version)
	return served
}

// List is the approximate list of a span.
func (s servedHistory) List(ctx context.Context, d *rule.Definition, g rule.Group, from, to archive.Hour) (*exact.ServedList, error) {
	found, err := s.store.history.list(ctx, d.Name, g, spanOfHours(from, to), time.Now())
	if err != nil || found.list == nil {
		return nil, err
	}
	l := found.list
	return &exact.ServedList{
		List: l.List, Total: l.Total, Reasons: l.PartialReasons,
		Count: func(key string) (lower, upper uint64) {
			lower, upper, _ = l.count(key)
			return lower, upper
		},
	}, nil
}

// counted says of which hours something was counted by the era that answers for a span.
func (h *history) counted(p *plan) func(archive.Hour) bool {
	return func(at archive.Hour) bool {
		h.mu.RLock()
		defer h.mu.RUnlock()
		if p.era == nil {
			return false
		}
		hour := p.era.at(window.Minute(at) * oneHour)
		if hour == nil {
			return false
		}
		return hour.counted(p.era)
	}
}

// counted says whether anything was counted in h.
func (h *hour) counted(e *era) bool {
	all := h.find(e, rule.Group{})
	return all == nil || all.total > 0
}
