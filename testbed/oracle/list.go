package oracle

import (
	"strings"
	"time"

	"github.com/otel-topk/collector/topk"
)

// List is the API's answer to a call of /v1/trending, as far as it can be checked.
type List struct {
	Rule           string     `json:"rule"`
	Window         string     `json:"window"`
	Scope          string     `json:"scope"`
	Group          string     `json:"group"`
	WindowStart    *time.Time `json:"window_start"`
	AsOf           *time.Time `json:"as_of"`
	Approximate    bool       `json:"approximate"`
	Certified      bool       `json:"certified"`
	Partial        bool       `json:"partial"`
	PartialReasons []string   `json:"partial_reasons"`
	Total          uint64     `json:"total"`
	TotalUpper     uint64     `json:"total_upper"`
	Other          uint64     `json:"other"`
	Records        uint64     `json:"records"`
	Distinct       uint64     `json:"distinct"`
	Theta          uint64     `json:"theta"`
	Coverage       Coverage   `json:"coverage"`
	Conflicts      []Conflict `json:"conflicts"`
	Items          []Item     `json:"items"`
}

// Conflict is another definition that counts under the name of a List's rule.
type Conflict struct {
	Fingerprint string `json:"fingerprint"`
	LiveShards  int    `json:"live_shards"`
}

// Item of a List.
type Item struct {
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

// Name is the key; the parts of a composite one are joined by "|", as in the exact counts of the data sets.
func (i *Item) Name() string {
	if len(i.Parts) > 1 {
		return strings.Join(i.Parts, "|")
	}
	return i.Key
}

// Coverage of a List.
type Coverage struct {
	Reporting        int           `json:"reporting"`
	Silent           int           `json:"silent"`
	Gone             int           `json:"gone"`
	SilentShards     []SilentShard `json:"silent_shards"`
	Late             uint64        `json:"late"`
	Future           uint64        `json:"future"`
	Dropped          uint64        `json:"dropped"`
	OverflowedShards int           `json:"overflowed_shards"`
}

// SilentShard is one that was not heard of for a while.
type SilentShard struct {
	Shard string    `json:"shard"`
	Since time.Time `json:"since"`
}

// Point is the API's answer to a call of /v1/count.
type Point struct {
	Key        string     `json:"key"`
	Estimate   uint64     `json:"estimate"`
	Lower      uint64     `json:"lower"`
	ErrorBound uint64     `json:"error_bound"`
	AsOf       *time.Time `json:"as_of"`
}

// TopOf is the list of the first k of a summary, as the API would write it.
func TopOf(s *topk.Summary, k int) *List {
	top := s.Top(k)
	list := &List{
		Certified: top.Certified, Total: s.Total(), TotalUpper: s.TotalUpper(), Other: s.Total(),
		Records: s.Records(), Theta: max(top.Theta, top.Next),
	}
	list.Distinct, _ = s.Distinct()
	for i, item := range top.Items {
		list.Other -= item.Lower
		list.Items = append(list.Items, Item{
			Rank: i + 1, Key: item.Key, Estimate: item.Estimate, Lower: item.Lower, ErrorBound: item.Estimate - item.Lower,
			Share:   float64(item.Estimate) / float64(s.TotalUpper()),
			Certain: item.Certain, RankCertain: item.RankCertain,
		})
	}
	return list
}
