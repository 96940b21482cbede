package topkexporter

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/otel-topk/collector/exporter/topkexporter/internal/exact"
	"github.com/otel-topk/collector/exporter/topkexporter/internal/recounts"
	"github.com/otel-topk/collector/internal/depot"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire"
)

// restored is what a storage holds at the start.
type restored struct {
	lists   []*list
	hours   []*indexed
	rollups map[string]int // sizes by key
	jobs    []*recounts.Job
	results map[string]int // likewise
	audits  map[string][]byte
}

// restore serves and keeps what was stored before. What it cannot make sense of is set aside.
func (s *store) restore(ctx context.Context, now time.Time) (*restored, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	found := &restored{rollups: map[string]int{}, results: map[string]int{}, audits: map[string][]byte{}}
	var bodies wire.Bodies
	if err := s.storage.depot.Walk(ctx, func(v depot.Value) { found.visit(s.storage.depot, v, &bodies) }); err != nil {
		return nil, err
	}
	s.restoreLists(found.lists, now)
	s.history.restore(found, now)
	s.commit(ctx)
	return found, nil
}

func (r *restored) visit(d *depot.Depot, v depot.Value, bodies *wire.Bodies) {
	switch {
	case strings.HasPrefix(v.Key, rollupPrefix):
		r.rollups[v.Key] = v.Size
	case strings.HasPrefix(v.Key, recounts.ResultPrefix):
		r.results[v.Key] = v.Size
	case strings.HasPrefix(v.Key, exact.AuditPrefix):
		if value, ok := v.Open(); ok {
			r.audits[v.Key] = bytes.Clone(value)
		}
	case strings.HasPrefix(v.Key, recounts.JobPrefix):
		value, ok := v.Open()
		if !ok {
			return
		}
		j, err := recounts.DecodeJob(v.Key, value)
		if err != nil {
			d.SetAside(v.Key, value)
			return
		}
		r.jobs = append(r.jobs, j)
	case strings.HasPrefix(v.Key, listPrefix):
		value, ok := v.Open()
		if !ok {
			return
		}
		l, err := decodeList(value)
		if err != nil || listKey(l.Rule.Name, l.id()) != v.Key {
			d.SetAside(v.Key, value)
			return
		}
		r.lists = append(r.lists, l)
	case strings.HasPrefix(v.Key, hourPrefix):
		value, ok := v.Open()
		if !ok {
			return
		}
		x, err := decodeIndex(value, bodies)
		if err != nil || newEra(x.definition).hourKey(x.start) != v.Key {
			d.SetAside(v.Key, value)
			return
		}
		r.hours = append(r.hours, x)
	}
}

// restoreLists serves the newest lists, as many as there may be. The others are removed.
func (s *store) restoreLists(lists []*list, now time.Time) {
	slices.SortFunc(lists, func(a, b *list) int { return b.received.Compare(a.received) })
	for _, l := range lists[min(len(lists), s.maxLists):] {
		s.storage.remove(listKey(l.Rule.Name, l.id()))
	}
	d := newDraft(s.current.Load(), s.maxLists, now)
	lists = lists[:min(len(lists), s.maxLists)]
	for _, l := range slices.Backward(lists) { // the newest last, as they came
		d.restore(l)
	}
	s.current.Store(d.finish())
}

// restore the index of what is stored. Values that no index names are removed.
func (h *history) restore(found *restored, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	slices.SortFunc(found.hours, func(a, b *indexed) int { return int(a.start - b.start) })
	for _, x := range found.hours {
		h.restoreHour(x, found.rollups)
	}
	for key := range found.rollups {
		h.storage.remove(key)
	}
	h.expire(now)
	h.makeRoom()
	h.storage.apply()
}

// restoreHour takes the roll-ups of an hour from rollups.
func (h *history) restoreHour(x *indexed, rollups map[string]int) {
	e := h.era(&wire.Rollup{Rule: x.definition})
	e.definition = x.definition
	past := h.rules[x.definition.Name]
	if x.start >= past.newest {
		past.newest, past.received = x.start, x.received
	}
	at := e.hour(x.start, x.received)
	at.reasons, at.reasonedAt, at.next = x.reasons, x.reasonedAt, x.next
	h.change(at)
	for i, known := range x.entries {
		key := e.rollupKey(at.start, known.slot)
		if _, stored := rollups[key]; !stored || at.find(e, x.groups[i]) != nil {
			continue
		}
		delete(rollups, key)
		known.group = e.groups.use(x.groups[i])
		at.entries = append(at.entries, known)
		if x.groups[i].Scope != rule.ScopeGlobal {
			at.parts += known.total
		}
		h.rollups++
		h.grow(at, int64(known.size)+entryBytes)
	}
	at.indexBytes = int64(x.encodedBytes)
	h.grow(at, at.indexBytes)
}
