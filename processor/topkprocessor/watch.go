package topkprocessor

import (
	"time"

	"go.uber.org/zap"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/topk"
)

const (
	silence = 5 * time.Minute  // after which a rule that matches nothing is named, and a condition that came back is logged again
	history = 10 * time.Second // after which a rule whose records are all late is named
)

// watch sees what of a rule its user should know, and says it once.
type watch struct {
	overflowed  uint64
	overflow    recurrence
	cut         uint64
	cutting     recurrence
	full        uint64
	filling     recurrence
	failed      uint64
	failure     recurrence
	skippedAt   time.Time // first record looked at while none was matched
	lateAt      time.Time // first late record while none was counted
	saidSilent  bool
	saidHistory bool
}

func (w *watch) check(l *ledger, now time.Time, logger *zap.Logger) {
	t := &l.tally
	name := zap.String("rule", l.definition.Name)
	if n := t.overflowed.Load(); n > w.overflowed {
		w.overflowed = n
		if w.overflow.began(now) {
			logger.Warn("More groups than max_groups; the records of further groups count in scope overflow", name, zap.Int("max_groups", l.maxGroups))
		}
	}
	if n := t.cut.Load(); n > w.cut {
		w.cut = n
		if w.cutting.began(now) {
			logger.Warn("Keys or groups are longer than max_key_bytes; they count under what is left of them and a hash", name,
				zap.Int("max_key_bytes", l.definition.MaxKeyBytes))
		}
	}
	if n := t.full.Load(); n > w.full {
		w.full = n
		if w.filling.began(now) {
			logger.Warn("A list has all the weight that it can hold in a minute; further records are not counted", name, zap.Uint64("weight", topk.MaxTotal))
		}
	}
	if n := t.failed.Load(); n > w.failed {
		w.failed = n
		if l.rule.Config().ErrorMode == rule.ErrorIgnore && w.failure.began(now) {
			logger.Warn("An OTTL expression failed; the rule does not count such records", name, zap.Uint64("records", n))
		}
	}
	if t.counted.Load() > 0 {
		w.skippedAt, w.lateAt = time.Time{}, time.Time{}
		w.saidSilent, w.saidHistory = true, true
		return
	}
	late := t.late.Load()
	if late > 0 && !w.saidHistory && !l.clock.Event && since(&w.lateAt, now) >= history {
		w.saidHistory = true
		logger.Warn("All records are late; this looks like history, for which there is `clock: event`", name, zap.Duration("lateness", l.clock.Lateness))
	}
	if late == 0 && t.future.Load() == 0 && t.skipped() > 0 && !w.saidSilent && since(&w.skippedAt, now) >= silence {
		w.saidSilent = true
		logger.Warn("The rule has matched no record yet; are its key, conditions and default right?", name,
			zap.Uint64("unmatched", t.unmatched.Load()), zap.Uint64("missing_key", t.missingKey.Load()),
			zap.Uint64("bad_weight", t.badWeight.Load()), zap.Uint64("error", t.failed.Load()))
	}
}

// skipped is the number of records looked at and not counted.
func (t *tally) skipped() uint64 {
	return t.unmatched.Load() + t.missingKey.Load() + t.badWeight.Load() + t.failed.Load() + t.full.Load()
}

// since the time in at, which is now if it was not set.
func since(at *time.Time, now time.Time) time.Duration {
	if at.IsZero() {
		*at = now
	}
	return now.Sub(*at)
}

// recurrence of a condition: it began if it was not there for a while.
type recurrence struct{ seen time.Time }

func (r *recurrence) began(now time.Time) bool {
	quiet := r.seen.IsZero() || now.Sub(r.seen) >= silence
	r.seen = now
	return quiet
}
