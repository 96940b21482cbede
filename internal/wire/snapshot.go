package wire

import (
	"iter"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/topk"
)

// Snapshot is the published list of one rule, window and group.
type Snapshot struct {
	Rule           *rule.Definition // without the seed
	Window         time.Duration
	Group          rule.Group
	WindowStart    time.Time
	AsOf           time.Time
	Approximate    bool
	PartialReasons []string // "silent_shards", "overflow", "drops", "short_window", "late", "future"; none: complete
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

type SilentShard struct {
	Shard string
	Since time.Time // last heard of
}

// Conflict is another definition under the same rule name.
type Conflict struct {
	Fingerprint string
	LiveShards  int
	Rule        *rule.Definition
}

// WindowSummary answers point queries for the Snapshot of the same rule, window, group and AsOf.
type WindowSummary struct {
	Rule    *rule.Definition // with the seed
	Window  time.Duration
	Group   rule.Group
	AsOf    time.Time
	Summary *topk.Summary
}

// AppendSnapshot and AppendWindowSummary append one log record each; a snapshot's body and attributes are readable.
func AppendSnapshot(ld plog.Logs, s *Snapshot)                 { panic("stub") }
func AppendWindowSummary(ld plog.Logs, w *WindowSummary) error { panic("stub") }

// Publication is a *Snapshot or a *WindowSummary.
type Publication any

// Publications yields what the records of ld hold, or why not.
func Publications(ld plog.Logs) iter.Seq2[Publication, error] { panic("stub") }
