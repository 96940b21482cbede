package wire

import (
	"time"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/topk"
)

// Snapshot is the published list of one rule, window and group.
type Snapshot struct {
	Rule           *rule.Definition // without the seed
	Window         time.Duration
	Group          rule.Group
	WindowStart    time.Time
	AsOf           time.Time // zero: nothing was counted yet
	Approximate    bool
	PartialReasons []string // "silent_shards", "late" and so on, at most MaxReasons of MaxReasonBytes; none: complete
	Total          uint64   // exact weight
	TotalUpper     uint64
	Records        uint64
	Distinct       uint64
	List           topk.List // of K = the rule's k
	Coverage       Coverage
	Conflicts      []Conflict
}

// Coverage says whose records a list holds, and what it lacks.
type Coverage struct {
	Reporting        int           // shards heard of within 30 s
	Silent           int           // shards expected and silent
	Gone             int           // said goodbye, or silent for 1 h
	SilentShards     []SilentShard // the 20 longest silent
	Late             uint64        // records too late, that arrived within the window
	Future           uint64
	Dropped          uint64 // final states given up
	OverflowedShards int    // whose max_groups was passed
}

// SilentShard names a shard that was not heard of for a while.
type SilentShard struct {
	Shard string
	Since time.Time // last heard of
}

// Conflict is another definition under the same rule name.
type Conflict struct {
	Fingerprint string
	LiveShards  int
	Rule        *rule.Definition // without the seed
}
