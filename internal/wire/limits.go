package wire

import (
	"math"
	"time"

	"github.com/otel-topk/collector/internal/window"
)

// Limits of what is decoded, beside those of rules and summaries. They hold before anything of that size is allocated;
// FORMAT.md lists them.
const (
	MaxBodyBytes       = 16 << 20  // of a state, a window summary or a rollup
	MaxReportBytes     = 512 << 10 // of a report
	MaxReportRules     = 1000
	MaxThrough         = 1024    // gateways that a state came through, in a report
	MaxSilentShards    = 20      // of a rule by name, in a report and in a list
	MaxSilentBelow     = 1000    // by name, in a report
	MaxBelow           = 1 << 20 // shards below a gateway, in a report
	MaxReplicaSetBytes = 128
	MaxDefinitionBytes = 64 << 10
	MaxShardBytes      = 256     // of a shard's label; longer ones are cut when they are written
	MaxGroups          = 1 << 20 // of one rule and minute
	MaxReasons         = 16      // partial reasons of a rollup or a snapshot
	MaxReasonBytes     = 64      // of one
	MaxWindow          = 24 * time.Hour

	// MaxMinute is the last one whose end is a time in nanoseconds, in the year 2262.
	MaxMinute = window.Minute(math.MaxInt64/int64(window.Bucket)) - 1
	// MaxHour is the same of hours since the Unix epoch.
	MaxHour = int64(MaxMinute+1)/int64(window.OneHour) - 1
)
