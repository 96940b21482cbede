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
	overflowed  growth
	cut         growth
	full        growth
	failed      growth
	skippedAt   time.Time // first record looked at while none was matched
	lateAt      time.Time // first late record while none was counted
	saidSilent  bool
	saidHistory bool
}

func (w *watch) check(l *ledger, now time.Time, logger *zap.Logger) {
	t := &l.tally
	name := zap.String("rule", l.definition.Name)
	if w.overflowed.began(t.overflowed.Load(), now) {
		logger.Warn("More groups than max_groups; the records of further groups count in scope overflow", name, zap.Int("max_groups", l.maxGroups))
	}
	if w.cut.began(t.cut.Load(), now) {
		logger.Warn("Keys or groups are longer than max_key_bytes; they count under what is left of them and a hash", name,
			zap.Int("max_key_bytes", l.definition.MaxKeyBytes))
	}
	if w.full.began(t.full.Load(), now) {
		logger.Warn("A list has all the weight that it can hold in a minute; further records are not counted", name, zap.Uint64("weight", topk.MaxTotal))
	}
	if n := t.failed.Load(); w.failed.began(n, now) && l.rule.Config().ErrorMode == rule.ErrorIgnore {
		logger.Warn("An OTTL expression failed; the rule does not count such records", name, zap.Uint64("records", n))
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

// growth of a count that should not grow.
type growth struct {
	count uint64
	recurrence
}

func (g *growth) began(count uint64, now time.Time) bool {
	if count <= g.count {
		return false
	}
	g.count = count
	return g.recurrence.began(now)
}

// recurrence of a condition: it began if it was not there for a while.
type recurrence struct{ seen time.Time }

func (r *recurrence) began(now time.Time) bool {
	quiet := r.seen.IsZero() || now.Sub(r.seen) >= silence
	r.seen = now
	return quiet
}
