package topkexporter

import (
	"context"
	"net/url"
	"time"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

// reasonNoSnapshot is the partial reason of a list of which nothing was published.
const reasonNoSnapshot = "no_snapshot"

// heading says which list an answer is about, and of when. Pointers are null where there is nothing to say.
type heading struct {
	Rule           *string  `json:"rule"`
	Window         *string  `json:"window"`
	Scope          string   `json:"scope"`
	Group          *string  `json:"group"`
	WindowStart    *string  `json:"window_start"`
	AsOf           *string  `json:"as_of"`
	Approximate    bool     `json:"approximate"`
	Partial        bool     `json:"partial"`
	PartialReasons []string `json:"partial_reasons"`
}

func (s *selection) heading() heading {
	h := heading{
		Scope:          s.group.Scope.String(),
		Approximate:    true,
		Partial:        true,
		PartialReasons: []string{reasonNoSnapshot},
	}
	if s.rule != nil {
		h.Rule = &s.rule.definition.Name
	}
	if s.window != "" {
		h.Window = &s.window
	}
	if s.group.Scope == rule.ScopeGroup {
		h.Group = &s.group.Name
	}
	if s.reasons != nil {
		h.WindowStart, h.PartialReasons = utc(s.start), s.reasons
	}
	if l := s.list; l != nil {
		h.WindowStart, h.AsOf = utc(l.WindowStart), utc(l.AsOf)
		h.Approximate = l.Approximate
		h.Partial = len(l.PartialReasons) > 0
		h.PartialReasons = filled(l.PartialReasons)
	}
	return h
}

// utc is t in RFC 3339, null for no time.
func utc(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := t.UTC().Format(time.RFC3339Nano)
	return &text
}

// filled is s, never null in JSON.
func filled[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// trend is the answer of /v1/trending.
type trend struct {
	heading
	K          int        `json:"k"`
	Certified  bool       `json:"certified"`
	Total      uint64     `json:"total"`
	TotalUpper uint64     `json:"total_upper"`
	Other      uint64     `json:"other"`
	Records    uint64     `json:"records"`
	Distinct   uint64     `json:"distinct"`
	Theta      uint64     `json:"theta"`
	Coverage   coverage   `json:"coverage"`
	Conflicts  []conflict `json:"conflicts"`
	Items      []item     `json:"items"`
}

type item struct {
	Rank        int      `json:"rank"`
	Key         string   `json:"key"`
	Parts       []string `json:"parts"`
	Estimate    uint64   `json:"estimate"`
	Lower       uint64   `json:"lower"`
	ErrorBound  uint64   `json:"error_bound"`
	Share       float64  `json:"share"`
	Certain     bool     `json:"certain"`
	RankCertain bool     `json:"rank_certain"`
}

type coverage struct {
	Reporting        int           `json:"reporting"`
	Silent           int           `json:"silent"`
	Gone             int           `json:"gone"`
	SilentShards     []silentShard `json:"silent_shards"`
	Late             uint64        `json:"late"`
	Future           uint64        `json:"future"`
	Dropped          uint64        `json:"dropped"`
	OverflowedShards int           `json:"overflowed_shards"`
}

type silentShard struct {
	Shard string  `json:"shard"`
	Since *string `json:"since"`
}

type conflict struct {
	Fingerprint string     `json:"fingerprint"`
	LiveShards  int        `json:"live_shards"`
	Definition  definition `json:"definition"`
}

func newCoverage(c *wire.Coverage) coverage {
	silent := make([]silentShard, len(c.SilentShards))
	for i, s := range c.SilentShards {
		silent[i] = silentShard{s.Shard, utc(s.Since)}
	}
	return coverage{
		Reporting: c.Reporting, Silent: c.Silent, Gone: c.Gone, SilentShards: silent,
		Late: c.Late, Future: c.Future, Dropped: c.Dropped, OverflowedShards: c.OverflowedShards,
	}
}

// trending answers /v1/trending and /top.
func (h *handler) trending(ctx context.Context, c *catalog, rawQuery string) (*answer, error) {
	q, err := parameters(rawQuery, trendParameters)
	if err != nil {
		return nil, err
	}
	s, err := h.choose(ctx, c, q)
	if err != nil {
		return nil, err
	}
	k, err := s.length(q)
	if err != nil {
		return nil, err
	}
	table, err := asTable(q)
	if err != nil {
		return nil, err
	}
	encode := func() *answer {
		t := s.trend(k)
		if table {
			return newJSON(t.rows(), cacheLists)
		}
		return newJSON(t, cacheLists)
	}
	if s.list == nil || s.exact != nil || s.passing { // no other answer shares it
		return encode(), nil
	}
	key := answerKey{list: s.list, k: k}
	if table {
		key.name = formatTable
	}
	return c.answers.get(key, encode), nil
}

// length reads k, at most the rule's.
func (s *selection) length(q url.Values) (int, error) {
	switch {
	case s.list != nil:
		return length(q, s.list.List.K)
	case s.rule != nil:
		return length(q, s.rule.definition.K)
	}
	return length(q, rule.MaxK)
}

// trend is the list of the first k, certified for that k.
func (s *selection) trend(k int) trend {
	l := s.list
	if l == nil {
		return trend{heading: s.heading(), K: k, Coverage: newCoverage(&wire.Coverage{}), Conflicts: []conflict{}, Items: []item{}}
	}
	first := l.List.First(k)
	t := trend{
		heading:    s.heading(),
		K:          k,
		Certified:  first.Certified,
		Total:      l.Total,
		TotalUpper: l.TotalUpper,
		Other:      first.Other(l.Total),
		Records:    l.Records,
		Distinct:   l.Distinct,
		Theta:      first.Unlisted(),
		Coverage:   newCoverage(&l.Coverage),
		Conflicts:  make([]conflict, len(l.Conflicts)),
		Items:      make([]item, len(first.Items)),
	}
	for i, c := range l.Conflicts {
		t.Conflicts[i] = conflict{c.Fingerprint, c.LiveShards, newDefinition(c.Rule)}
	}
	for i := range first.Items {
		t.Items[i] = newItem(l, i+1, &first.Items[i])
	}
	return t
}

func newItem(l *list, rank int, i *topk.Item) item {
	return item{
		Rank:        rank,
		Key:         i.Key,
		Parts:       filled(l.Rule.Parts(i.Key)),
		Estimate:    i.Estimate,
		Lower:       i.Lower,
		ErrorBound:  i.Estimate - i.Lower,
		Share:       share(i.Estimate, l.TotalUpper),
		Certain:     i.Certain,
		RankCertain: i.RankCertain,
	}
}

// share of a whole, 0 of nothing.
func share(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
