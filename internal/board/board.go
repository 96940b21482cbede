// Package board is the gateway's core: states become parts, parts become windows, windows become snapshots. It has no
// clock and no goroutine; a Board is not safe for concurrent use.
//
// The law of counting. The records of one shard, rule and minute (a set: its groups' states) are either live or in every
// part that holds the minute and is kept, never both: Accept replaces live states, a fold moves a whole set into its minute,
// its five minutes and its hour at once and leaves its identity behind, by which repeats are known. A window is the merge of
// the fewest parts that cover it and of the live states of its minutes. Nothing is ever subtracted.
//
// The law of overflow. A set with a state of scope overflow may hide in it records of every group that the set lacks. So
// wherever such a set counts, live or in a part, each group that it lacks takes the overflow as a bound: a listed estimate
// is never below the truth.
package board

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
)

const (
	mergedResidents  = 4096 // of a part and a window of a global list, or the rule's own if more
	summaryResidents = 1024 // of a published WindowSummary

	silentAfter = 30 * time.Second
	deafAfter   = 5 * time.Minute // without a word of any shard, before a restart
	goneAfter   = time.Hour
	aheadLimit  = time.Hour // how far ahead of now the minute of a state may be
	setBack     = time.Hour // how much the wall clock may be set back: nothing is counted twice then, and windows hold what they held

	forgottenAfter = 24 * time.Hour // when a shard that is gone is counted no more

	setBackMinutes = window.Minute(setBack / window.Bucket)

	stateBytes = 512 // of a live state, beside its encoding and the name of its group

	drawerBytes     = 256 << 20 // of parts that are held in memory with a Shelf
	maxSummaryBytes = 256 << 20 // of an encoded summary
)

// Defaults of a Config's limits of memory, in bytes.
const (
	DefaultMaxLiveBytes = 1 << 30
	DefaultMaxPartBytes = 4 << 30
	DefaultMaxListBytes = 8 << 30
)

// Values of Config.PointQueries: the lists that are published with a summary.
const (
	PointQueriesGlobal = "global"
	PointQueriesAll    = "all"
	PointQueriesOff    = "off"
)

// Config of a Board. Times are wall durations.
type Config struct {
	Windows      []time.Duration // multiples of window.Bucket, at most 24h
	Event        bool            // windows end at the newest event of their rule
	Retain       time.Duration   // how long states are taken after the end of their minute, with Event after the last one of rule and minute
	PointQueries string          // PointQueriesGlobal, PointQueriesAll or PointQueriesOff
	MaxRules     int             // definitions; more are refused
	MaxGroups    int             // of a rule; more count in scope overflow
	MaxEpochs    int             // live shards; more are told to come again later
	KeepMinutes  time.Duration   // how long minute parts are kept, at least 5m; 5-minute parts are kept 24h
	KeepHours    time.Duration   // how long hour parts are kept, at least 24h; without a Shelf 24h
	Shelf        Shelf           // what outlasts the board; nil: nothing does
	Pause        Pause           // of a long Publish; nil: it is not interrupted
	MaxLiveBytes int64           // of live states as they came, a shard may always have its even share; 0: 1 GiB
	MaxPartBytes int64           // of parts, the oldest go first; 0: 4 GiB
	Ascent       *Ascent         // nil: this gateway is no shard of another
	MaxListBytes int64           // of what is kept merged for lists, at its full size; past it as MaxRules and MaxGroups; 0: 8 GiB
}

// Shelf keeps values for a board that comes later. What is set is seen by Get at once; Get of a key without a value is nil, and
// an error says that there is one and that it cannot be read. What one call of a Board sets and deletes belongs together: it
// is to become durable at once or not at all.
type Shelf interface {
	Get(key string) ([]byte, error)
	Set(key string, value []byte)
	Delete(key string)
	SetAside(key string, value []byte) // a value that holds nothing the board knows: it goes where it does no harm
}

// Pause is called now and then while a Board publishes, where what it has stored so far belongs together. Accept, Report and
// Stats may be called in it; it says whether they may have been.
type Pause func() bool

// Errors of Accept and Report. ErrOverloaded means: come again later. Any other is for good.
var (
	ErrOverloaded = errors.New("board: overloaded")
	ErrRules      = errors.New("board: no room for one more rule")
	ErrTooLate    = errors.New("board: state is too late")
	ErrTooEarly   = errors.New("board: state is ahead of time")
	ErrWeight     = errors.New("board: state is too heavy")
	ErrLoop       = errors.New("board: states of this gateway come back to it: one of those that it sends to sends to it")
)

// Stats counts since New; the receiver makes metrics of them.
type Stats struct {
	Rules, Groups, LiveEpochs, LiveStates, Parts int
	LiveBytes, PartBytes                         int64
	ListBytes                                    int64 // set aside for what is kept merged

	Accepted, Stale, Folded uint64 // states taken, taken without effect, moved into parts
	TooLate, TooEarly       uint64 // states refused
	RefusedRules            uint64 // states refused for MaxRules
	CrowdedRules            uint64 // states refused for MaxListBytes
	TooHeavy                uint64 // states refused for what they weigh
	Looped                  uint64 // states and reports refused as they hold what this gateway sent up
	Overloaded              uint64 // states and reports refused for MaxEpochs and MaxLiveBytes
	Superseded              uint64 // states let go uncounted: their set was complete without them
	GivenUpParts            uint64 // for MaxPartBytes, or as they are more than the index of parts may hold
	Unmerged                uint64 // summaries left out, as the total would pass 2^63
	Oversized               uint64 // final states that did not go up, as they were larger than a state may be
	HeldBack                uint64 // open states that did not go up for MaxLiveBytes: they go as final
	Untold                  uint64 // rules of which not all goes up that shards told, as they are more than MaxRules and wire.MaxReportRules
	Unreadable              uint64 // stored values that could not be read
	Unfit                   uint64 // stored values that fitted nothing

	OverflowedGroups map[string]uint64 // by rule: states that count in scope overflow for MaxGroups
	CrowdedGroups    map[string]uint64 // by rule: for MaxListBytes
}

// Board is made by New.
type Board struct {
	cfg     Config
	windows []time.Duration // ascending, each once
	keep    window.Keep

	epochs map[wire.Epoch]*epoch
	rules  map[string]*ruled
	recent recentRule
	folded window.Minute // wall minute of the last fold
	stats  Stats

	began      int64  // to listen, after a time in which nobody could be heard; 0: always did
	identities int    // sets known: live and folded
	losses     uint64 // parts read in vain
	rolled     int    // bytes of rollups in this publication
	rolledAt   int64  // their time, which never goes back
	late       bool   // there were more
	anew       []string
	mostIndex  int64
	indexBytes int64               // of the index of parts
	unsettled  []*wire.State       // of the board before
	sequence   uint64              // of what goes up
	beyond     uint64              // where the sequences of the board after this one begin
	looped     map[wire.Epoch]bool // senders that were refused for a loop, at most wire.MaxThrough
	present    map[string]*presence
	told       map[string]*wire.RuleReport // by rule: what shards said that are forgotten
	turn       string                      // rule of which an hour was last published in turn
	drawer     *drawer
	sumBytes   int64 // of sums of live states, more or less
	mostSums   int64

	codec    codec
	decoders [atOnce]decoder
	sums     scratch // of one part or list
	opens    scratch // of what is live of one group
}

// New makes an empty board.
func New(cfg Config) *Board {
	cfg = cfg.defaults()
	windows := slices.Clone(cfg.Windows)
	slices.Sort(windows)
	held := int64(-1)
	if cfg.Shelf != nil {
		held = drawerBytes
	}
	return &Board{
		cfg:       cfg,
		windows:   slices.Compact(windows),
		keep:      cfg.keep(),
		drawer:    newDrawer(held),
		mostSums:  cfg.MaxLiveBytes,
		mostIndex: mostIndexBytes,
		epochs:    map[wire.Epoch]*epoch{},
		rules:     map[string]*ruled{},
		folded:    -1,
		codec:     newCodec(),
		stats:     Stats{OverflowedGroups: map[string]uint64{}, CrowdedGroups: map[string]uint64{}},
	}
}

func (c Config) defaults() Config {
	for _, l := range [...]struct {
		limit     *int64
		otherwise int64
	}{{&c.MaxLiveBytes, DefaultMaxLiveBytes}, {&c.MaxPartBytes, DefaultMaxPartBytes}, {&c.MaxListBytes, DefaultMaxListBytes}} {
		if *l.limit == 0 {
			*l.limit = l.otherwise
		}
	}
	return c
}

func (c Config) keep() window.Keep {
	k := window.Keep{
		Minutes:     max(c.KeepMinutes, time.Duration(window.FiveMinutes)*window.Bucket),
		FiveMinutes: wire.MaxWindow,
		Hours:       wire.MaxWindow,
	}
	if c.Shelf != nil {
		k.Hours = max(k.Hours, c.KeepHours)
	}
	return k
}

// Stats of now.
func (b *Board) Stats() Stats {
	s := b.stats
	s.Rules = b.definitions()
	s.OverflowedGroups, s.CrowdedGroups = maps.Clone(s.OverflowedGroups), maps.Clone(s.CrowdedGroups)
	return s
}

// definitions counts what MaxRules limits.
func (b *Board) definitions() int {
	n := 0
	for _, r := range b.rules {
		for _, c := range r.definitions {
			if c.awake() {
				n++
			}
		}
	}
	return n
}

// global is the group of lists over all groups, and the only one of a rule without group_by.
var (
	global   = rule.Group{Scope: rule.ScopeGlobal}
	overflow = rule.Group{Scope: rule.ScopeOverflow}
)
