// Package board is the gateway's core: states become parts, parts become windows, windows become snapshots. It has no
// clock and no goroutine; a Board is not safe for concurrent use.
package board

import (
	"errors"
	"time"

	"github.com/otel-topk/collector/internal/wire"
)

// Config of a Board. Times are wall durations.
type Config struct {
	Windows      []time.Duration // multiples of window.Bucket, at most 24h
	Event        bool            // windows end at the newest event of their rule
	Retain       time.Duration   // how long late final states are taken
	PointQueries string          // "global", "all" or "off"
	MaxRules     int
	MaxGroups    int // per rule
	MaxEpochs    int
	KeepMinutes  time.Duration // how long minute parts are kept; 5-minute and hour parts are kept 24h
}

// ErrOverloaded: more live epochs than MaxEpochs; the shard should come again later. Any other error of Accept or Report is for good.
var ErrOverloaded = errors.New("board: too many live shards")

type Board struct{}

func New(cfg Config) *Board { panic("stub") }

// Report notes that a shard lives. Accept takes a state; repeats and older sequences are taken and change nothing.
func (b *Board) Report(r *wire.Report, now int64) error { panic("stub") }
func (b *Board) Accept(s *wire.State, now int64) error  { panic("stub") }

// Published is one list and, where point queries are on, its summary.
type Published struct {
	Snapshot *wire.Snapshot
	Summary  *wire.WindowSummary // nil: off
}

// Publish folds what has closed (once a minute) and returns the lists that changed since they were last published, and
// each unchanged one again after a minute. ended are lists that will not come again.
func (b *Board) Publish(now int64) (changed []Published, ended []*wire.Snapshot) { panic("stub") }

// Stats counts since New; the receiver makes metrics of them.
type Stats struct {
	Rules, Groups, LiveEpochs, LiveStates, Parts int
	PartBytes                                    int64
	Accepted, Stale, TooLate, Folded             uint64
	RefusedRules, OverflowedGroups               uint64
}

func (b *Board) Stats() Stats { panic("stub") }
