package board

import (
	"time"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
)

// Bytes of memory that one of each takes, measured and rounded up.
const (
	epochBytes    = 1 << 10
	reportedBytes = 320 // of an epoch, with the name of the rule
	identityBytes = 64
	minuteBytes   = 2 << 10 // of a definition, beside its identities
	spanBytes     = 512     // of a definition, beside the parts of its groups
	incidentBytes = 192
	risingBytes   = 2 << 10                     // of an open state that goes up, beside its encoding and the name of its group
	conceptBytes  = 4 * wire.MaxDefinitionBytes // of a definition, beside its lists

	mostIndexBytes = 512 << 20 // of all parts
	partIndexBytes = 96        // of one, beside the name of its group

	scratchBytes = 512 << 20 // of what is merged, encoded and decoded at one time, for rules of the largest shape
)

// Memory is the most that a board takes, in bytes, by what takes it.
type Memory struct {
	States     int64 // live, and their sums
	Lists      int64
	Parts      int64 // without a Shelf their bytes, with one an index and those that were used last
	Shards     int64
	Identities int64 // of sets, until retain: shards x rules x minutes, and no more than mostSets in all
	Coverage   int64
	Rules      int64
	Scratch    int64 // of publishing
}

// MemoryOf is computed from cfg. What requests hold until they are taken is not in it.
func MemoryOf(cfg Config) Memory {
	cfg = cfg.defaults()
	keep := cfg.keep()
	definitions := int64(2 * cfg.MaxRules) // as many may sleep as are awake
	minutes := int64(1)
	for _, d := range [...]time.Duration{cfg.Retain, setBack, aheadLimit} {
		minutes += int64(d / window.Bucket)
	}
	spans := int64(3 * setBackMinutes)
	for _, s := range [...]struct {
		kept time.Duration
		size window.Size
	}{{keep.Minutes, window.OneMinute}, {keep.FiveMinutes, window.FiveMinutes}, {keep.Hours, window.OneHour}} {
		spans += int64(s.kept/window.Bucket)/int64(s.size) + 2
	}
	moments := int64((wire.MaxWindow+2*setBack)/window.Bucket) + int64(keep.Hours/time.Hour) + 2
	parts := int64(drawerBytes)
	if cfg.Shelf == nil {
		parts = cfg.MaxPartBytes
	}
	states := int64(hardLimit + 1)
	if cfg.Ascent != nil {
		states += hardLimit // the same, merged, as it goes up: what is sent, and what comes next
	}
	return Memory{
		States:     states * cfg.MaxLiveBytes,
		Lists:      cfg.MaxListBytes,
		Parts:      parts + mostIndexBytes + definitions*spans*spanBytes,
		Shards:     2 * int64(cfg.MaxEpochs) * (epochBytes + int64(cfg.MaxRules)*reportedBytes),
		Identities: int64(cfg.maxIdentities())*identityBytes + definitions*minutes*minuteBytes,
		Coverage:   definitions * moments * incidentBytes,
		Rules:      definitions * (conceptBytes + rule.MaxNameBytes),
		Scratch:    scratchBytes + 2*rollupBytes,
	}
}

// Total of all.
func (m Memory) Total() int64 {
	return m.States + m.Lists + m.Parts + m.Shards + m.Identities + m.Coverage + m.Rules + m.Scratch
}
