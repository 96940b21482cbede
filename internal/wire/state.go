// Package wire carries states and snapshots as OTLP logs.
package wire

import (
	"iter"

	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/topk"
)

// Epoch is 128 random bits made when a processor starts.
type Epoch [16]byte

// Report says who a shard is and how it fares. One leads every request; alone it is hello or goodbye.
type Report struct {
	Epoch   Epoch
	Shard   string
	Goodbye bool
	Rules   []RuleReport
}

// RuleReport counts, cumulative since the epoch began, what did not become part of any state.
type RuleReport struct {
	Rule    string
	Records uint64 // records counted
	Late    uint64 // records too late
	Future  uint64 // records too far ahead
	Dropped uint64 // final states given up (pending or retain passed)
}

// State is the summary of one (epoch, rule, minute, group), cumulative; the highest Sequence wins, Final beats any.
type State struct {
	Epoch    Epoch
	Shard    string
	Sequence uint64
	Final    bool
	Rule     *rule.Definition
	Minute   window.Minute
	Group    rule.Group
	Groups   int   // how many groups (states) the epoch has for this rule and minute; does not change once Final
	Newest   int64 // newest event counted, Unix nanoseconds
	Summary  *topk.Summary
	Encoded  []byte // of Summary: set by Messages, may be set for Append
}

// AppendReport and AppendState append one log record each to ld; they return its size in bytes.
func AppendReport(ld plog.Logs, r *Report) int        { panic("stub") }
func AppendState(ld plog.Logs, s *State) (int, error) { panic("stub") }

// Message is a *Report or a *State.
type Message any

// Messages yields what the records of ld hold, or for each that is none why (the error never holds a record's data).
func Messages(ld plog.Logs) iter.Seq2[Message, error] { panic("stub") }
