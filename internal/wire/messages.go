// Package wire carries states, snapshots and rollups as OTLP logs. FORMAT.md beside it specifies the bytes.
package wire

import (
	"iter"

	"go.opentelemetry.io/collector/pdata/plog"
)

// Message is a *Report or a *State.
type Message = any

// Messages yields what the records of ld hold, or for each that is none a *Refusal.
func Messages(ld plog.Logs) iter.Seq2[Message, error] {
	known := definitions{}
	return records(ld, func(scope string, lr plog.LogRecord) (any, error) {
		switch scope {
		case ScopeReport:
			return orRefusal(decodeReport(lr))
		case ScopeState:
			return orRefusal(known.decodeState(lr))
		}
		return nil, refuse(ReasonForeign, "scope: neither %q nor %q; this takes the states of topk processors only", ScopeState, ScopeReport)
	})
}

// Publication is a *Snapshot, a *WindowSummary or a *Rollup.
type Publication = any

// Publications yields what the records of ld hold, or for each that is none a *Refusal.
func Publications(ld plog.Logs) iter.Seq2[Publication, error] {
	known := definitions{}
	return records(ld, func(scope string, lr plog.LogRecord) (any, error) {
		switch scope {
		case ScopeSnapshot:
			return orRefusal(decodeSnapshot(lr))
		case ScopeSummary:
			return orRefusal(known.decodeWindowSummary(lr))
		case ScopeRollup:
			return orRefusal(known.decodeRollup(lr))
		}
		return nil, refuse(ReasonForeign, "scope: none of %q, %q and %q; this takes the lists of trend receivers only",
			ScopeSnapshot, ScopeSummary, ScopeRollup)
	})
}

func records(ld plog.Logs, decode func(scope string, lr plog.LogRecord) (any, error)) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		for _, rl := range ld.ResourceLogs().All() {
			for _, sl := range rl.ScopeLogs().All() {
				name, version := sl.Scope().Name(), sl.Scope().Version()
				for _, lr := range sl.LogRecords().All() {
					if ours(name) && version != Version {
						if !yield(nil, refuse(ReasonVersion, "scope %q: its version is not known here, version %q is", name, Version)) {
							return
						}
						continue
					}
					if !yield(decode(name, lr)) {
						return
					}
				}
			}
		}
	}
}

// ours says whether name is a scope of this format.
func ours(name string) bool {
	return name == ScopeReport || name == ScopeState || name == ScopeSnapshot || name == ScopeSummary || name == ScopeRollup
}

// orRefusal keeps a nil pointer from becoming a message.
func orRefusal[T any](m *T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}
